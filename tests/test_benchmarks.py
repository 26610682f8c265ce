"""The table of benchmarks: its rows can be had by name, and say whether they meet their target."""

from __future__ import annotations

import json
from datetime import date, datetime
from random import Random

import pytest

from analyzer import classify, open_store
from benchmarks import __main__ as command
from benchmarks import beside, starts, table, transcripts
from benchmarks.alarms import __main__ as alarms_command
from benchmarks.alarms import fleet_incidents, fleet_texts, nights, real, real_incidents, rivals, scores
from benchmarks.alarms.nights import Told
from benchmarks.alarms.truth import History, Incident
from benchmarks.rows import main as held_against
from benchmarks.table import BENCHES, Bench, Row, Size
from tests import REPOSITORY, each_row

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


OUTAGE = Incident(
    kind="outage",
    strength="strong",
    onset=datetime(2026, 3, 5, 9),
    end=datetime(2026, 3, 5, 11),
    touched={"caller": frozenset({"ci", "qa"}), "provider": frozenset({"openai"})},
    names=frozenset({"openai"}),
    words="outage",
    sessions=20,
)


def _held(*told: Told) -> scores.Tally:
    """What is made of three callers' ten days, the fourth of which has the outage."""
    sessions = {"ci": [5] * 10, "qa": [5] * 10, "docs": [5] * 10}
    return scores.tally(History("one", date(2026, 3, 2), 2, [{}] * 10, [OUTAGE], sessions), scores.OURS, told)


def _told(day: int, scope: str, name: str, sentence: str = "") -> Told:
    return Told(day, f"{name}/{sentence}", True, "outage", {scope: name}, sentence)


def test_an_alarm_in_the_scope_and_time_of_an_incident_finds_it():
    """It is named after its provider, over in time, and another caller's alarm on that day is false."""
    made = _held(_told(3, "provider", "openai"), _told(3, "caller", "docs"))
    (case,) = made.cases
    assert (case.found, case.delay, case.alarms, case.named, case.closed) == (True, 0, 1, True, True)
    assert [each[:6] for each in made.false] == ["day 3,"]
    assert made.quiet_days == 8 + 1 + 1  # of the caller that it does not touch, and of the two days before it


@pytest.mark.parametrize(("day", "found", "false"), [(2, False, 1), (4, True, 0), (5, False, 0)])
def test_an_alarm_outside_of_the_time_of_an_incident_does_not_find_it(day, found, false):
    """Before the onset it is false; later than the night after the end it belongs to the incident and is no hit."""
    made = _held(_told(day, "provider", "openai"))
    assert (made.cases[0].found, len(made.false)) == (found, false)


def test_an_incident_is_named_by_the_gravest_finding_of_the_first_night():
    """A caller of the provider is no right name, whatever is told behind it; alarms that go on are not over in time."""
    told = [
        _told(3, "caller", "ci"),
        _told(3, "provider", "openai"),
        *(_told(day, "caller", "ci") for day in (4, 5, 6)),
    ]
    (case,) = _held(*told).cases
    assert (case.found, case.alarms, case.named, case.closed) == (True, 2, False, False)


def test_a_finding_that_comes_back_is_another_alarm():
    """A night without it lies between."""
    assert _held(*(_told(day, "caller", "qa") for day in (3, 4, 6))).cases[0].alarms == 2


@pytest.mark.parametrize("worse", [False, True])
def test_an_alarm_from_before_finds_an_incident_where_it_gets_graver(worse):
    """What goes on as before says nothing of it; either way its opening is false."""
    before = _told(2, "provider", "openai")
    made = _held(before, before._replace(day=3, worse=worse))
    assert (made.cases[0].found, len(made.false)) == (worse, 1)


@pytest.mark.parametrize("name", rivals.RIVALS)
def test_a_rival_raises_a_day_of_many_errors_and_no_usual_one(name):
    """After five weeks that are alike, ten times as many errors are an alarm and the same number is none."""
    usual = rivals.Series([2.0, 3.0, 4.0, 3.0, 2.0, 3.0, 4.0] * 5 + [3.0], [20.0] * 36)
    worse = rivals.Series([*usual.counts[:-1], 30.0], usual.sessions)
    assert [rivals.RIVALS[name](each, 35, 0) for each in (usual, worse)] == [False, True]


def test_the_last_rival_raises_a_silent_day():
    """A caller that has ten sessions on each such day and then none."""
    rule = rivals.RIVALS["the same with tools, waits, silence"]
    assert rule(rivals.Series([10.0] * 28 + [0.0], [10.0] * 29, "sessions"), 28, 0)


def test_tallies_that_were_kept_give_the_table_again(tmp_path, capsys):
    """Without a history to measure, what a file of results holds is printed."""
    kept = tmp_path / "kept.jsonl"
    kept.write_text(json.dumps(_held(_told(3, "caller", "ci", "ci: outage")).to_dict()) + "\n")
    assert alarms_command.main(["--histories", "0", "--results", str(kept), "--verbose"]) == 0
    said = capsys.readouterr().out
    assert "the product" in said
    assert "one: outage, strong: misnamed ci: outage" in said


def test_the_invented_errors_have_the_reasons_that_they_are_logged_with():
    """The rules give every text of the fleet the reason of its table, and know none of the unknown ones."""
    for reason, forms in fleet_texts.TEXTS.items():
        for status, template in (text for texts in forms.values() for text in texts):
            message = fleet_texts.filled(template, Random(1), "gpt-5")
            assert classify({"message": message} | ({"status": status} if status else {})).reason == reason, template
    for seed in range(20):
        assert (
            classify(fleet_texts.filled(fleet_texts.unknown_template(Random(seed)), Random(seed))).reason == "unknown"
        )


@each_row("kind", fleet_incidents.KINDS)
def test_every_invented_kind_of_incident_finds_a_place(kind):
    """Of a few fleets, one has room for it at its strongest."""
    assert any(fleet_incidents.planned(f"{kind}/{seed}", [(kind, 2)]).happens for seed in range(8))


def test_a_seed_gives_the_same_history():
    """Each line of each day is the same, and its incident names a part of the fleet."""
    one, again = (fleet_incidents.history("again/1", [("network flaky", 2)]) for _ in range(2))
    assert (one.files, one.incidents) == (again.files, again.incidents)
    assert one.incidents[0].sessions >= scores.LEAST_SESSIONS


def test_sessions_of_real_histories_are_drawn_again_without_their_words():
    """Courses, hours and days are those of the samples; texts and names are made up, and have their reasons."""
    shape = real.Shape.read([str(REPOSITORY / "sample_events")])
    assert len(shape.hours) == 24
    assert min(shape.a_day) >= 1
    one = real_incidents.history("shape/1", [("login of one lost", 2)], shape)
    lines = [line for files in one.files for own in files.values() for line in own]
    assert {case.kind for case in one.incidents} == {"login of one lost"}
    assert not any("figma" in line or "/home/" in line for line in lines)
    for reason, texts in real.TEXTS.items():
        for status, text in texts:
            error = {"message": text.replace("{n}", "7")} | ({"status": status} if status else {})
            assert classify(error).reason == reason, text


@pytest.mark.parametrize("kind", real_incidents.KINDS)
def test_every_kind_of_incident_can_be_put_into_real_histories(kind):
    """One of a few crews has a place for it at its strongest, and its sessions are known."""
    made = (real_incidents.placed(Random(seed), [(kind, 2)], real.MADE_UP) for seed in range(3))
    assert any(case.sessions >= scores.LEAST_SESSIONS for _, cases in made for case in cases)


@pytest.mark.slow
def test_the_nights_around_a_plain_incident_find_it():
    """Where every session of a provider is refused for most of a day, a nightly check of the logs says so."""
    made = (fleet_incidents.history(f"plain/{seed}", [("key of all expired", 2)]) for seed in range(20))
    one = next(each for each in made if each.incidents and len(each.sessions) < 10)
    measured = scores.tally(one, scores.OURS, nights.told(alarms_command.quick(one)))
    assert [case.found for case in measured.cases] == [True]
    assert "key of all expired" in "\n".join(scores.table([measured]))


def test_two_stores_of_the_same_logs_are_told_from_two_of_others(tmp_path, samples):
    """Every view's columns are the same, whenever the stores were made; one event more shows."""
    first, second = tmp_path / "first.duckdb", tmp_path / "second.duckdb"
    for path in (first, second):
        with open_store(path, writable=True) as store:
            store.ingest([str(samples / "unknown-spike.jsonl")])
    assert held_against([str(first), str(second)]) == 0
    with open_store(second, writable=True) as store:
        store.ingest([str(samples)])
    assert held_against([str(first), str(second)]) == 1


def test_two_checkouts_take_turns(monkeypatch, capsys, tmp_path):
    """Each piece of work gets a row with the medians of both, and what ends otherwise than commands do stops it all."""
    works = {"bare Python": beside.BARE, "query": (*beside.MAIN, "query", "errors-by-reason", "--store", beside.STORE)}
    monkeypatch.setattr(beside, "works", lambda *_: works)
    assert beside.main([str(REPOSITORY), str(REPOSITORY), "--events", "20", "--runs", "1"]) == 0
    said = capsys.readouterr().out
    assert "figures of the old store, 0 that differ" in said
    assert [line.split("  ")[0] for line in said.splitlines()[-2:]] == list(works)
    with pytest.raises(SystemExit, match="ended with 7"):
        beside.spent(REPOSITORY, ("-c", "raise SystemExit(7)"), tmp_path)
    with pytest.raises(SystemExit, match="2"):
        beside.main([str(tmp_path), str(REPOSITORY)])
