"""Whatever a command line says, and whenever it is interrupted: it ends, with a documented code, in our words."""

from __future__ import annotations

import signal
import sys

import pytest

from tests import LONG_RUNS
from tests.cli.forking import HUNG, Done, Line
from tests.cli.fuzz import fault_of, line_of, run_lines

SEED = 20261102
LINES = 20


@pytest.mark.skipif(sys.platform != "linux", reason="forks are watched by pidfd")
def test_no_command_line_breaks_the_contract() -> None:
    """No traceback, no internal error, no other exit code, no hang; more of them in long runs and by tests.cli.fuzz."""
    assert not list(run_lines(SEED, iter(range(LINES * LONG_RUNS))))


def test_a_command_line_follows_from_its_seed() -> None:
    """A number names the same one for ever."""
    assert line_of(1, 2, "here") == line_of(1, 2, "here")
    assert len({tuple(line_of(1, number, "here").arguments) for number in range(50)}) > 40


@pytest.mark.parametrize(
    ("done", "fault"),
    [
        (Done(0, "", ""), None),
        (Done(3, "", "analyzer: no store at x\n"), None),
        (Done(-signal.SIGTERM, "", ""), None),
        (Done(130, "", "analyzer: interrupted\n"), None),
        (Done(HUNG, "", ""), "it hung"),
        (Done(7, "", ""), "it ended with 7"),
        (Done(-signal.SIGSEGV, "", ""), f"it ended with {-signal.SIGSEGV}"),
        (Done(3, "", "analyzer: internal error: KeyError"), "it said 'internal error'"),
        (Done(1, "", "Traceback (most recent call last):\n"), "it said 'Traceback (most recent call last)'"),
    ],
)
def test_a_breach_is_seen(done: Done, fault: str | None) -> None:
    """The judge would notice."""
    line = Line(["report"], ".", signals=[(0.0, int(signal.SIGTERM)), (0.0, int(signal.SIGINT))])
    assert fault_of(line, done) == fault
