"""What `detect` finds in a history, from the last night on of which the store still has the state of the tests.

Invariant: the answer is that of the whole history. A state is used only if it was made of the very same
rows, under the same settings, by the same code; and what it leaves out no test looks at any more.
"""

from __future__ import annotations

from contextlib import suppress
from datetime import date, timedelta
from functools import cache
from hashlib import sha256
from pathlib import Path
from typing import NamedTuple

import msgspec
import polars as pl

from analyzer.analysis import detection
from analyzer.analysis.detection import Detection, Settings
from analyzer.analysis.detection.detection import detections_in, frame
from analyzer.analysis.detection.fleet import COUNT_COLUMNS, DetectorState, detect
from analyzer.analysis.observations import Observations
from analyzer.store import DetectorStates

_WEEK = timedelta(days=7)


def resumed_detections(seen: Observations, settings: Settings) -> list[Detection]:
    """The detections of `detect`; states are kept of the last day, and of two Mondays for events that come late.

    Raises:
        QueryError: the store cannot be asked.
        StoreError: it cannot keep a state.
    """
    if seen.detector_states is None or seen.counts.is_empty():
        return detections_in(detect(seen.counts, seen.templates, settings))
    last: date = seen.days[-1]
    monday = last - timedelta(days=last.weekday())
    stops = sorted({monday - _WEEK, monday, last})
    name = sha256(f"{settings}".encode()).hexdigest()[:12]
    history = _History(seen.counts.select("day", "caller", *COUNT_COLUMNS), seen.templates)
    state, done = _begun(history, seen.detector_states, name, last)
    for stop in stops:
        if stop <= done:
            continue
        so_far = history.up_to(stop)
        state.go_on(so_far.counts, so_far.templates, settings)
        if seen.detector_states.keeps and not state.has_single_days:
            state.forget()
            seen.detector_states.keep(name, stop, so_far.digest, msgspec.msgpack.encode(state), beside=stops)
    return detections_in(frame(state.found))


class _History(NamedTuple):
    """All that `detect` looks at."""

    counts: pl.DataFrame
    templates: pl.DataFrame

    def up_to(self, day: date) -> _History:
        """The same without the days behind one."""
        return _History(*(rows.filter(pl.col("day") <= day) for rows in self))

    @property
    def digest(self) -> str:
        """The digest of its rows and of the code of the tests."""
        digest = sha256(_code())
        for rows in self:
            # No row is there twice, and their order makes no difference.
            sums = [rows.hash_rows(seed).bitwise_xor() for seed in (1, 2)]
            digest.update(f"{rows.columns} {rows.height} {sums}".encode())
        return digest.hexdigest()


def _begun(history: _History, states: DetectorStates, name: str, last: date) -> tuple[DetectorState, date]:
    """The state to go on with, and the last day that it is through with; a new one where none fits this history."""
    for day, made_of in states.days(name, last):
        if made_of == history.up_to(day).digest:
            with suppress(msgspec.MsgspecError):
                return msgspec.msgpack.decode(states.state(name, day), type=DetectorState), day
    return DetectorState(), date.min


@cache
def _code() -> bytes:
    """The digest of the tests."""
    folder = Path(detection.__path__[0])
    digest = sha256()
    for path in sorted(folder.rglob("*.py")):
        digest.update(path.read_bytes())
    return digest.digest()
