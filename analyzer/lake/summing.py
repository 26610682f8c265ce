"""The sums of days, worked out by Spark: what reaches the driver is by day and caller, and does not grow with events.

Invariant: rows of one day and caller are counted together, by the functions that count them in a store of DuckDB's.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from functools import partial
from io import BytesIO
from typing import TYPE_CHECKING, Any

import polars as pl
import pyarrow as pa

from analyzer.store.sums.counting import counted
from analyzer.store.sums.statements import GROUPS, RELAYS, WEAK_TEMPLATES
from analyzer.store.sums.tables import GROUPS as GROUP_COLUMNS
from analyzer.store.sums.tables import empty, sorted_sums

if TYPE_CHECKING:
    from analyzer.lake.answers import Answers

ROWS = 250_000
"""Rows that an executor counts together, and no more than those of the last caller's day beyond."""
_RELAY_COLUMNS = ("day", "caller", "step", "session", "relays")
_ALL = (*GROUP_COLUMNS, "step", "relays")
_MADE = "name string, part binary"
_KEY = ["day", "caller"]


class SparkEngine:
    """A lake, asked through its views."""

    divides = True

    def __init__(self, answers: Answers) -> None:
        self._answers = answers

    def ask(self, statement: str, given: Mapping[str, Any], frames: Mapping[str, pl.DataFrame]) -> pl.DataFrame:
        """The rows, of the lake as it was when it was opened."""
        return self._answers.rows(statement, given, frames)

    def by_session(self, given: Mapping[str, Any], frames: Mapping[str, pl.DataFrame]) -> dict[str, pl.DataFrame]:
        """Counted by executors: of messages with a reason those alone that weak evidence decided at least once."""
        common = {name: value for name, value in given.items() if name != "ruleset"}
        weak = self.ask(WEAK_TEMPLATES, given, frames)["template"].to_list()
        errors = self._answers.relation(GROUPS, given, frames)
        relays = self._answers.relation(RELAYS, common, frames)
        both = errors.unionByName(relays, allowMissingColumns=True).select(*_ALL)
        apart = both.repartition(*_KEY).sortWithinPartitions(*_KEY, "session", "template")
        parts = self._answers.collected(lambda: apart.mapInArrow(partial(count_rows, frozenset(weak)), _MADE))
        made: dict[str, list[pl.DataFrame]] = {}
        for name, part in parts.iter_rows():
            made.setdefault(name, [empty(name)]).append(pl.read_ipc_stream(BytesIO(part)))
        return {name: sorted_sums(name, pl.concat(some)) for name, some in made.items()} or counted(*_split(_none()))


def count_rows(weak: frozenset[str], batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Rows in the order of their days and callers → the frames of `counted`, each a stream of Arrow under its name."""
    for rows in _whole_days(batches):
        made = counted(*_split(rows))
        known = made["known_templates"]
        made["known_templates"] = known.filter(pl.col("template").is_in(list(weak)))
        names, parts = [], []
        for name, frame in made.items():
            if frame.height:
                sorted_sums(name, frame).write_ipc_stream(written := BytesIO())
                names.append(name)
                parts.append(written.getvalue())
        yield pa.RecordBatch.from_arrays([pa.array(names, pa.string()), pa.array(parts, pa.binary())], ["name", "part"])


def _whole_days(batches: Iterable[pa.RecordBatch]) -> Iterator[pl.DataFrame]:
    """The same rows, about `ROWS` at a time, and never a part of a caller's day."""
    held = _none()
    for batch in batches:
        held = pl.concat([held, pl.DataFrame(pa.Table.from_batches([batch])).cast(held.schema)])
        if held.height < ROWS:
            continue
        last = held.select(_KEY).row(-1)
        is_last = (pl.col("day") == last[0]) & (pl.col("caller") == last[1])
        whole = held.filter(~is_last)
        if whole.height:
            yield whole
            held = held.filter(is_last)
    if held.height:
        yield held


def _split(rows: pl.DataFrame) -> tuple[pl.DataFrame, pl.DataFrame]:
    """The errors and the hand-offs among them: a hand-off has a step, be it an empty one."""
    errors = rows.filter(pl.col("step").is_null()).select(*GROUP_COLUMNS)
    return errors, rows.filter(pl.col("step").is_not_null()).select(_RELAY_COLUMNS)


def _none() -> pl.DataFrame:
    kinds: dict[str, Any] = {name: getattr(pl, kind) for name, kind in GROUP_COLUMNS.items()}
    return pl.DataFrame(schema={**kinds, "step": pl.String, "relays": pl.Int64})
