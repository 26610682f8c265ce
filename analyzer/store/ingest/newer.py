"""Types of records in the newest logs that are newer than what was looked at of their producers."""

from __future__ import annotations

import heapq
from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import suppress

from analyzer.errors import InputError
from analyzer.events import Reject
from analyzer.events.codec import decode_object
from analyzer.frozen import frozen
from analyzer.importers import HEAD_BYTES, detect, head_of
from analyzer.importers.shapes.record_types import Producer, newer_types, producer_of
from analyzer.store.ingest.discover import Stock
from analyzer.store.ingest.inputs import Input

NEWEST = 5
"""Files of a place that are looked at: a producer that was updated writes its new types there."""
_MOST_BYTES = 2 * 1024 * 1024
"""Bytes of a file that are looked at, which takes some 20 ms."""


@frozen
class NewerType:
    """A type of records that the table of types does not have."""

    producer: Producer
    type: str
    count: int


def newer_in(stocks: Iterable[Stock]) -> list[NewerType]:
    """Return the types that the newest logs of each place have, and the table has not."""
    counts: Counter[tuple[str, str]] = Counter()
    by_name: dict[str, Producer] = {}
    for stock in stocks:
        for _, path in heapq.nlargest(NEWEST, stock.changed):
            with suppress(InputError), Input(path, _MOST_BYTES, below=stock.place.folder) as source:
                producer = producer_of(detect(head_of(source.head(HEAD_BYTES))).name)
                if producer:
                    by_name[producer.name] = producer
                    for name, count in newer_types(producer, _records(source)).items():
                        counts[producer.name, name] += count
    return [NewerType(by_name[producer], name, count) for (producer, name), count in sorted(counts.items())]


def _records(source: Input) -> Iterator[dict[str, object]]:
    """Yield the records of an open source; lines that are none, or break off, are left out."""
    for line in b"".join(source.chunks(0)).split(b"\n"):
        record = decode_object(line, unique_keys=False)
        if not isinstance(record, Reject):
            yield record
