"""The table of benchmarks: its rows can be had by name, and say whether they meet their target."""

from __future__ import annotations

import pytest

from benchmarks import __main__ as command
from benchmarks import alarms, hours, starts, table, transcripts
from benchmarks.table import BENCHES, Bench, Row, Size
from tests import REPOSITORY

TINY = Size(events=200, appended=40, classified=60, judged=400, runs=1, processes=1, stores=(300,))


@pytest.mark.parametrize("name", ["append", "classify", "replay", "scale"])
def test_a_benchmark_gives_rows(name):
    """Each benchmark measures ours, and says which target that meets; a peer that is not installed is named."""
    rows = list(BENCHES[name].rows(TINY))
    assert rows
    for row in rows:
        assert row.ours or row.peer.startswith("not installed: ")
        assert (row.met is None) == (not row.target)


def test_starts_are_told_apart():
    """A process that imports more takes longer than bare Python, and its script is the most of that."""
    found = starts.starts(1)
    assert list(found) == list(starts.SCRIPTS)
    assert found[starts.BARE].over_bare == 0
    assert found[starts.CLASSIFY].inside > found[starts.BARE].inside
    assert all(each.whole >= each.inside for each in found.values())


def test_a_missed_target_is_the_exit_code(monkeypatch, capsys):
    """The rows of what was asked for are printed, and 1 is returned as soon as one target is missed."""
    good = Row("one", "1 s", "", "", "<= 2 s", True)
    monkeypatch.setattr("os.environ", dict(command.os.environ))
    monkeypatch.setattr(
        command,
        "BENCHES",
        {
            "good": Bench(lambda _: iter([good, good._replace(target="", met=None)]), "met"),
            "bad": Bench(lambda size: iter([good._replace(work=f"{size.events:,} events", met=False)]), "missed"),
        },
    )
    assert command.main(["good"]) == 0
    assert command.main(["bad", "good", "--quick", "--markdown"]) == 1
    said = capsys.readouterr().out
    assert f"| {table.QUICK.events:,} events | 1 s |  |  | <= 2 s | no |" in said
    assert said.count("<= 2 s") == 3


def test_an_unknown_name_is_refused(capsys):
    """The known ones are named."""
    with pytest.raises(SystemExit):
        command.main(["apend"])
    assert "no benchmark is called 'apend'; known: start, append" in capsys.readouterr().err


def test_the_page_names_every_benchmark():
    """What can be asked for stands in the README of the benchmarks."""
    page = (REPOSITORY / "benchmarks" / "README.md").read_text("utf-8")
    assert ", ".join(BENCHES) in page


def test_without_npm_the_comparison_says_that_it_was_skipped(monkeypatch, tmp_path):
    """Ours are measured all the same, with the number of cores; nothing is claimed about the other one."""
    monkeypatch.setattr("shutil.which", lambda _: None)
    without = transcripts._fetched(tmp_path)
    assert without == ((), "SKIPPED: no npm, so no ccusage to compare with")
    taken = dict.fromkeys((transcripts.OURS, transcripts.AGAIN, transcripts.CODEX), transcripts.Taken(0.3, 0.2))
    monkeypatch.setattr(transcripts, "measured", lambda *_: (taken, without[1]))
    cold, again, codex = BENCHES["transcripts"].rows(TINY)
    assert (cold.peer, cold.met, again.met, codex.met) == (without[1], None, True, False)
    assert cold.ours == f"on {transcripts.cores()} cores: 0.30 s, 0.2 CPU"


@pytest.mark.parametrize(("make", "format_"), [(transcripts.transcript, "claude_code"), (transcripts.rollout, "codex")])
def test_made_up_transcripts_are_read_as_what_they_stand_for(memory, tmp_path, monkeypatch, make, format_):
    """As many megabytes as asked for, some failed tools among them, every line understood."""
    monkeypatch.setattr(transcripts, "_FAILED", 0.1)
    transcripts.write(tmp_path / "logs", 1, make)
    result = memory.ingest([str(tmp_path / "logs")])
    assert 1_000_000 <= result.total.bytes < 1_050_000
    assert {source.checkpoint.format for source in result.sources} == {format_}
    assert result.total.quarantined == 0
    assert memory.sql("from tool_failures").height > 0


def test_an_alarm_is_held_against_what_changed():
    """A story's changes are found, in no time, by one finding; and the line says so."""
    tally = alarms.Tally()
    tally.add(alarms.story("refused", alarms.Random("refused/0")), alarms.Random("log"))
    assert (tally.hits, tally.delays, tally.told, tally.false) == ([True], [0], 1, [])
    assert tally.line.split() == ["1.00", "0.0", "1.0", "0.00"]
    assert alarms.Tally.of([tally, tally]).line == tally.line
    assert alarms.Tally(caller_days=10).line.split() == ["-", "-", "-", "0.00"]


def test_an_hour_is_held_against_what_changed():
    """A provider that fails is told of in that hour, by one finding, and nothing else is."""
    tally = hours.Tally()
    tally.add("outage", hours.Random("outage/0"), range(7, 11))
    assert (tally.changes, tally.delays, tally.told, tally.false) == (1, [0], 1, [])
    assert tally.line.split()[:3] == ["1.00", "0.0", "1.0"]
    assert hours.Tally(caller_hours=10).line.split() == ["-", "-", "-", "0.000", "0.00"]
