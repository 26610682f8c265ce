"""Long questions to a store in Python: Ctrl-C and a limit of time end them, and what no frame holds is text."""

from __future__ import annotations

import os
import subprocess
import sys
import threading

import pytest

from analyzer.errors import LimitError, QueryError
from analyzer.store import Store
from tests import REPOSITORY

ENDLESS = "select * from range(100000000) a, range(100000) b where hash(a.range, b.range) % 100003 = 7"
"""Rows that trickle for hours: the time goes into making the frame."""
AGGREGATED = f"select count(*) from ({ENDLESS})"


@pytest.mark.parametrize("statement", [ENDLESS, AGGREGATED])
def test_a_question_ends_when_its_time_is_over(memory: Store, statement: str) -> None:
    """Wherever the time goes; the store answers the next one, and nothing of the first still runs."""
    threads = threading.active_count()
    with pytest.raises(LimitError, match=r"stopped after 0\.2 s"):
        memory.sql(statement, timeout=0.2)
    assert memory.sql("select 7", timeout=60).item() == 7
    assert threading.active_count() == threads


def test_what_is_asked_meanwhile_ends_with_the_block(memory: Store) -> None:
    """It is interrupted where the block fails; the store answers the next question, and no thread is left."""
    threads = threading.active_count()
    with pytest.raises(ZeroDivisionError), memory.meanwhile(lambda beside: beside.sql(ENDLESS)):
        raise ZeroDivisionError
    with memory.meanwhile(lambda beside: beside.sql("select count(*) from sources").item()) as answer:
        assert (memory.sql("select 7").item(), answer()) == (7, 0)
    assert threading.active_count() == threads


def test_what_fails_meanwhile_is_raised_where_its_answer_is_wanted(memory: Store) -> None:
    """As it is, whichever thread asked."""
    with (
        memory.meanwhile(lambda beside: beside.sql("select * from no_such")) as answer,
        pytest.raises(QueryError, match="no_such"),
    ):
        answer()


def test_another_thread_may_ask_with_a_limit(memory: Store) -> None:
    """No signal is needed for it."""
    found: list[BaseException] = []

    def ask() -> None:
        try:
            memory.sql(ENDLESS, timeout=0.2)
        except LimitError as error:
            found.append(error)

    thread = threading.Thread(target=ask)
    thread.start()
    thread.join()
    assert len(found) == 1


@pytest.mark.parametrize("asking", ["store.sql(statement)", "attended(store._connection, lambda: long(store))"])
def test_ctrl_c_ends_a_question(asking: str) -> None:
    """While rows become a frame, too, as it does in a notebook; and nothing is left but `KeyboardInterrupt`."""
    program = (
        "import os, signal, threading\n"
        "from analyzer.store import open_store\n"
        "from analyzer.store.db.connection import attended\n"
        "from analyzer.store.db.frames import ask\n"
        f"statement = {ENDLESS!r}\n"
        "long = lambda store: ask(store._connection, statement)\n"
        "with open_store(':memory:') as store:\n"
        "    threading.Timer(1.0, os.kill, (os.getpid(), signal.SIGINT)).start()\n"
        "    try:\n"
        f"        {asking}\n"
        "    except KeyboardInterrupt:\n"
        "        print(store.sql('select 7').item())\n"
    )
    environment = {**os.environ, "PYTHONPATH": str(REPOSITORY)}
    done = subprocess.run(
        [sys.executable, "-c", program], env=environment, text=True, capture_output=True, timeout=60, check=False
    )
    assert (done.stdout, done.stderr) == ("7\n", "")


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        ("union_value(a := 1)", "1"),
        ("[union_value(a := 1)]", "[1]"),
        ("map {1: union_value(a := 'x')}", "{1=x}"),
        ("{'a': interval 1 day}", "{'a': 1 day}"),
        ("[[interval 2 days]]", "[[2 days]]"),
    ],
)
def test_what_no_frame_holds_becomes_text(
    memory: Store, value: str, shown: str, capfd: pytest.CaptureFixture[str]
) -> None:
    """A union or an interval at any depth, at which polars would panic and print where its own code stands."""
    assert memory.sql(f"select {value} as x").item() == shown
    assert capfd.readouterr() == ("", "")


def test_what_a_frame_holds_stays_what_it_is(memory: Store) -> None:
    """Lists, structs, maps and arrays of other values."""
    frame = memory.sql("select [1, 2] as l, {'a': 'x'} as s, [1, 2]::int[2] as f")
    assert frame.row(0) == ([1, 2], {"a": "x"}, [1, 2])


def test_an_error_of_a_question_is_raised_as_it_is(memory: Store) -> None:
    """The thread that asks is of no concern to whoever reads it."""
    with pytest.raises(QueryError, match="no_such"):
        memory.sql("select * from no_such", timeout=60)
