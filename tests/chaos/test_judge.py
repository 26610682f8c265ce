"""The judge of the long run notices what it is there for."""

from __future__ import annotations

from datetime import datetime
from pathlib import Path

import pytest

from analyzer.events import Event, encode
from analyzer.store import open_store
from tests.chaos.hostile import OUTSIDE
from tests.chaos.judge import judge
from tests.chaos.tally import Tally

pytestmark = pytest.mark.slow


def line(name: str, number: int) -> bytes:
    """An event of one writer, as its log has it; no two say the same."""
    return encode(
        Event(
            "error.classified", datetime(2026, 11, 2), "s", {"caller": f"c{number}"}, name, writer="h:1:a", seq=number
        )
    )


def judged(folder: Path, lines: list[bytes], noted: list[str]) -> Tally:
    """What is said of a log with these lines, of which a reader has read all but the last, and of a writer's notes."""
    logs, notes, store, tally = folder / "logs", folder / "notes", folder / "x.duckdb", Tally()
    for made in (logs, notes):
        made.mkdir()
    (logs / "a.jsonl").write_bytes(b"".join(lines[:-1]))
    with open_store(store, writable=True) as opened:
        opened.ingest([str(logs)])
    (logs / "a.jsonl").write_bytes(b"".join(lines))
    (notes / "1").write_text("".join(f"{name}\n" for name in noted))
    judge(logs, notes, store, tally)
    return tally


def test_what_kept_every_promise_is_sound(tmp_path: Path) -> None:
    """Events that nobody was told of may be there, too: their writer died before it could note them."""
    tally = judged(tmp_path, [line(f"e-{number}", number) for number in range(4)], ["e-0", "e-1", "e-2"])
    assert tally.sound, tally
    assert (tally.acknowledged, tally.stored) == (3, 4)


@pytest.mark.parametrize(
    ("lines", "noted", "said"),
    [
        ([line("e-0", 0), line("e-1", 1)], ["e-0", "e-2"], "lost=1"),
        ([line("e-0", 0), line("e-1", 0)], ["e-0", "e-1"], "1 numbers of a writer stand on two events"),
        ([line("e-0", 0), line("e-0", 1)], ["e-0"], "conflicts=1"),
        ([line("e-0", 0), line(OUTSIDE, 1)], ["e-0"], "a link out of the folder was followed"),
        ([line("e-0", 0), line("e-1", 1)], ["e-0", "hung"], "1 forked children hung"),
        ([line("e-0", 0), line("e-1", 1)], [], "acknowledged=0"),
    ],
    ids=["lost", "number twice", "id twice", "link", "hung", "nothing"],
)
def test_a_broken_promise_is_noticed(tmp_path: Path, lines: list[bytes], noted: list[str], said: str) -> None:
    """An event that is not there, an id or a number that stands twice, a link that was followed, a fork that hung."""
    tally = judged(tmp_path, lines, noted)
    assert not tally.sound
    assert said in str(tally)
