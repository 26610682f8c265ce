"""What a host may pass to a log: anything. Nothing of it raises there, and what becomes of it is known."""

from __future__ import annotations

import inspect
import sys
import traceback
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from analyzer import EventLog, classify
from tests.events.disk import read_back


class Fault(Exception):
    """An error of a host's own, which cannot even be shown."""

    def __str__(self) -> str:
        raise Fault

    __repr__ = __str__


def fails(*_: object) -> Any:
    """Do what no host's object should do."""
    raise Fault


class Hostile:
    """It raises whatever it is asked."""

    __str__ = __repr__ = __len__ = __iter__ = __eq__ = __hash__ = __bool__ = __getitem__ = __getattr__ = fails
    __class__ = property(fails)  # type: ignore[assignment]


class HostileMapping(dict[str, Any]):
    """A mapping that does not give its items."""

    items = keys = values = __iter__ = __len__ = __getitem__ = fails  # type: ignore[assignment]


class HostileMoment(datetime):
    """A moment that belongs to no time zone that it could name."""

    tzinfo = property(fails)  # type: ignore[assignment]


def circle() -> dict[str, Any]:
    """A mapping that holds itself."""
    inner: dict[str, Any] = {}
    inner["inner"] = [inner]
    return inner


def deep() -> list[Any]:
    """A list in lists, deeper than anything recurses."""
    found: list[Any] = []
    for _ in range(10_000):
        found = [found]
    return found


MADE: dict[str, Callable[[], object]] = {
    "nothing": lambda: None,
    "hostile": Hostile,
    "hostile mapping": lambda: HostileMapping(a=1),
    "hostile moment": lambda: HostileMoment(2026, 1, 1, tzinfo=UTC),
    "wordless error": Fault,
    "error": lambda: TimeoutError("x"),
    "errors": lambda: ExceptionGroup("several", [Fault(), OSError(5, "\ud83d")]),
    "circle": circle,
    "depth": deep,
    "not a number": lambda: float("nan"),
    "infinity": lambda: -float("inf"),
    "huge integer": lambda: 10**5_000,
    "bytes": lambda: b"\xff\xfe",
    "bytearray": lambda: bytearray(b"\xff"),
    "half of an emoji": lambda: "\ud83d",
    "nul": lambda: "a\0b",
    "class": lambda: object,
    "function": lambda: fails,
    "set": lambda: {1, 2},
    "class as key": lambda: {Fault: Fault},
    "tuple": lambda: (429, "slow"),
    "first moment": lambda: datetime.min.replace(tzinfo=UTC),
    "no moment": lambda: datetime(1, 1, 1),
    "last moment": lambda: datetime(9999, 12, 31, tzinfo=UTC),
    "classification": lambda: classify("Overloaded"),
}
ANYTHING = st.recursive(
    st.sampled_from(sorted(MADE)) | st.text() | st.integers() | st.floats() | st.binary() | st.datetimes(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=5,
)
"""What to pass, by names: what it stands for cannot be shown."""


def made(drawn: object) -> object:
    """What the names in a drawn value stand for."""
    match drawn:
        case str():
            return MADE[drawn]() if drawn in MADE else drawn
        case list():
            return [made(item) for item in drawn]
        case dict():
            return {key: made(item) for key, item in drawn.items()}
    return drawn


WRITING = sorted(
    name
    for name, method in inspect.getmembers(EventLog, inspect.isfunction)
    if not name.startswith("_") and name not in ("sync", "close", "record")
)


@pytest.mark.parametrize("name", WRITING)
@settings(max_examples=30)
@given(data=st.data())
def test_nothing_that_a_host_passes_to_any_method_raises(tmp_path: Path, name: str, data: st.DataObject) -> None:
    """Whatever the arguments are, the event is on the log, or None comes back and the loss is counted."""
    log = EventLog(tmp_path)
    method = getattr(log, name)
    parameters = inspect.signature(method).parameters.values()
    required = [each for each in parameters if each.kind is each.POSITIONAL_OR_KEYWORD and each.default is each.empty]
    optional = [each.name for each in parameters if each.kind is each.KEYWORD_ONLY or each.default is None]
    known: dict[str, Any] = data.draw(st.dictionaries(st.sampled_from(optional), ANYTHING)) if optional else {}
    if any(each.kind is each.VAR_KEYWORD for each in parameters):
        keys = st.sampled_from(["caller", "self", "type", "folder", "attempt", "\ud83d", ""])
        known = {**data.draw(st.dictionaries(keys, ANYTHING, max_size=3)), **known}
    before = len(read_back(tmp_path))
    drawn = [data.draw(ANYTHING) for _ in required]
    raised = None
    try:
        event_id = method(*map(made, drawn), **{key: made(item) for key, item in known.items()})
    except Exception as error:
        raised = type(error).__name__
    assert raised is None
    if event_id is None:
        assert log.dropped == 1
    assert len(read_back(tmp_path)) == before + (event_id is not None)
    assert log.sync()
    log.close()


@pytest.mark.parametrize(
    ("error", "reason", "message"),
    [
        (TimeoutError("the read timed out"), "network_transient", "the read timed out"),
        ({"status": 529, "message": "Overloaded"}, "network_transient", "Overloaded"),
        ("Claude AI usage limit reached|1790000000", "rate_limited", "Claude AI usage limit reached|1790000000"),
        (classify("Overloaded"), "network_transient", "Overloaded"),
    ],
    ids=["exception", "mapping", "text", "classification"],
)
def test_an_error_is_classified_by_the_log(tmp_path: Path, error: object, reason: str, message: str) -> None:
    """An exception, a mapping and a text leave the event that their classification leaves."""
    with EventLog(tmp_path) as log:
        event_id = log.error_classified(error, caller="planner", session="s-1", attempt=2)
        log.error_classified(classify(error) if not hasattr(error, "facts") else error, caller="planner", attempt=2)
    events = read_back(tmp_path)
    assert event_id is not None
    payload: Mapping[str, Any] = events[event_id].payload
    assert (payload["reason"], payload["facts"]["message"], payload["caller"]) == (reason, message, "planner")
    assert len(events) == 2
    assert all(event.payload == payload for event in events.values())


def test_a_failure_that_has_no_text_is_told_by_its_name(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """What is wrong with a moment that raises a wordless error stands on stderr, and the host goes on."""
    log = EventLog(tmp_path)
    assert log.append("a.b", at=HostileMoment(2026, 1, 1)) is None
    assert log.dropped == 1
    assert "cannot write to the event log: Fault" in capsys.readouterr().err


@pytest.mark.parametrize("write", [lambda log: log.append("x"), lambda log: log.error_classified(ValueError("x"))])
def test_a_host_at_the_end_of_its_stack_sees_no_error_of_ours(
    write: Callable[[EventLog], str | None], tmp_path: Path
) -> None:
    """At every depth of calls an event is written or counted as lost; only a call of the host's own may fail."""
    log = EventLog(tmp_path)
    write(log)

    def descend(levels: int) -> str | None:
        return descend(levels - 1) if levels else write(log)

    ids, failed = [], 0
    for levels in range(sys.getrecursionlimit() - 300, sys.getrecursionlimit()):
        try:
            ids.append(descend(levels))
        except RecursionError as error:
            frames = traceback.extract_tb(error.__traceback__)
            assert {frame.filename for frame in frames} == {__file__}
            failed += 1
    assert failed and None in ids
    assert log.dropped == ids.count(None)
    assert len(read_back(tmp_path)) == len(ids) - ids.count(None) + 1
