"""What a report knows of each finding beside its sentence: the numbers of its chart, its sessions and messages."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from datetime import datetime, timedelta
from pathlib import Path

import polars as pl
import pytest

from analyzer.analysis import Case, Window, overview
from analyzer.analysis.kinds.families.bursts import MAX_MOMENTS, burst_rows
from analyzer.analysis.kinds.families.relays import hand_off_rows, relay_days
from analyzer.analysis.kinds.finding import KINDS, NOTHING, Basis, Finding
from analyzer.analysis.kinds.statistics.rates import MIN_DAYS
from analyzer.analysis.nightly.detections import detections
from analyzer.analysis.nightly.incidents import incidents
from analyzer.analysis.observations import exposed
from analyzer.analysis.summary.window_findings import MAX_CASES, observe_window
from analyzer.analysis.summary.window_findings import cases as look_behind
from analyzer.classifier.fingerprint import fingerprint
from analyzer.store import Store, open_store
from tests import named
from tests.analysis.histories import CHANGE, DAYS, START, every_finding
from tests.analysis.nightly.test_nightly_tests import day, group, observed

TOLD_ALONE = sorted(name for name, kind in KINDS.items() if not kind.cause)


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Store]:
    """A store of a history with every kind of finding."""
    folder: Path = tmp_path_factory.mktemp("fleet")
    (folder / "log.jsonl").write_bytes(b"".join(every_finding()))
    with open_store(":memory:") as opened:
        opened.ingest([str(folder)])
        yield opened


ASKED: Counter[str] = Counter()
"""How often each query was asked for the findings."""


@pytest.fixture(scope="module")
def cases(store: Store) -> dict[str, Case]:
    """The findings by their kind."""
    query = Store.query

    def counted(self: Store, name: str, **params: object) -> pl.DataFrame:
        ASKED[name] += 1
        return query(self, name, **params)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Store, "query", counted)
        return {case.finding.finding: case for case in overview(store, Window()).cases}


def last_row(case: Case) -> dict[str, object]:
    """The numbers of the last day."""
    return case.numbers.row(-1, named=True)


def test_what_a_finding_quotes_is_what_all_say_that_it_counts(store: Store, cases: dict[str, Case]) -> None:
    """Its sentence and its table of messages: numbers that differ between them are not those of the latest one."""
    errors = store.view("errors").with_columns(day=pl.col("occurred_at").dt.date())
    quoted = 0
    for case in cases.values():
        own = errors.filter(caller=case.finding.scope.caller) if case.finding.scope.caller else errors
        sure = Counter(own["message"].drop_nulls())
        for message, events in case.templates.select("message", "events").iter_rows():
            pattern = re.escape(message).replace(re.escape("<*>"), ".+")
            assert sum(number for text, number in sure.items() if re.fullmatch(pattern, text)) >= events
        for sample, said in zip(
            case.finding.samples, re.findall(". Most often “(.*)”", case.finding.explanation), strict=False
        ):
            alike = own.filter(fingerprint=fingerprint(sample), day=case.finding.last_on)["message"].unique()
            pattern = re.escape(said).replace(re.escape("<*>"), ".+")
            assert all(re.fullmatch(pattern, text) for text in alike)
            quoted += len(alike) > 1
    assert quoted


def test_the_history_has_every_kind_of_finding(cases: dict[str, Case]) -> None:
    """One each, of what is named after it; causes are told with the finding that they explain."""
    assert set(cases) == set(TOLD_ALONE)
    named = {kind: case.finding.scope.who for kind, case in cases.items()}
    others = {"shared_template": "the fleet", "fleet_outage": "the fleet", "version_worse": "version_worse 2.1.8"}
    others["model_swapped"] = "model_swapped-2 → lesser-1 after no failure"
    assert named == {kind: others.get(kind, kind) for kind in cases}


@pytest.mark.parametrize("kind", TOLD_ALONE)
def test_every_finding_comes_with_its_numbers_chart_and_sessions(cases: dict[str, Case], kind: str) -> None:
    """And with messages, unless it is about hand-offs, or about what is no error at all and in no session."""
    case = cases[kind]
    assert not case.numbers.is_empty()
    assert case.sessions.is_empty() == (KINDS[kind].behind is NOTHING)
    assert set(case.sessions["session"].str.extract(r"^(\w+)-\d+-\d+$")) <= {kind}
    assert case.templates.is_empty() == (KINDS[kind].behind is NOTHING or bool(KINDS[kind].behind.hand_offs))
    assert all(case.templates["message"].to_list())
    assert case.chart.title


def test_the_store_is_asked_once_for_all_findings(cases: dict[str, Case]) -> None:
    """For texts, for bursts, and for what else changed in the fleet: not once a finding."""
    assert len(cases) == len(TOLD_ALONE)
    assert (ASKED["detection-repeats"], ASKED["ruleset-groups"]) == (1, 1)
    assert ASKED["detection-messages"] == 2  # once for the findings, once for what else changed


def test_the_numbers_of_a_rise_end_with_what_its_sentence_says(cases: dict[str, Case]) -> None:
    """The share of its latest day, from as many groups and sessions."""
    for kind in ("spike", "drift"):
        latest, row = cases[kind].finding.latest, last_row(cases[kind])
        assert (row["unknown_share"], row["unknown_groups"]) == (latest.observed, latest.groups)
        assert row["unknown_sessions"] == latest.sessions


def test_the_numbers_of_a_new_message_begin_with_nothing(cases: dict[str, Case]) -> None:
    """No session shows it before its first sight, two do on each day since; sessions without it count as well."""
    case = cases["template"]
    new = pl.col("day") >= case.finding.onset
    assert case.finding.onset == START + timedelta(days=CHANGE)
    assert case.numbers.filter(~new)["message_sessions"].to_list() == [0] * 42
    assert case.numbers.filter(new)["message_sessions"].to_list() == [2] * (DAYS - CHANGE)
    assert set(case.numbers["sessions"]) == {40}
    assert case.templates.rows() == [("orrery arm is being re-strung", 6, 6)]


def test_the_numbers_of_hand_offs_say_what_each_day_led_to_expect(cases: dict[str, Case]) -> None:
    """On its day what the test expected; the day itself is unusual, and no other."""
    case = cases["relays"]
    latest, row = case.finding.latest, last_row(case)
    assert (row["hand_offs"], row["expected"], row["high"]) == (18, latest.expected, latest.high)
    assert (row["relay_sessions"], row["sessions"]) == (9, 12)
    assert case.numbers["unusual"].to_list() == [False] * 42 + [True]
    assert case.sessions.height == 9
    assert set(case.sessions["events"]) == {2}


def test_other_steps_are_exposure_of_a_steps_hand_offs() -> None:
    """A session that handed off in another step was at work; what is expected is what the test expected."""
    rows = [group(n, s, "validation") for n in range(40) for s in range(6)]
    relays = [(day(n), "probe", "implement", f"probe-{n}-0", 1) for n in range(40)]
    relays += [(day(n), "probe", "plan", f"else-{n}-{s}", 1) for n in range(40) for s in range(n % 4)]
    relays += [(day(39), "probe", "implement", f"probe-39-{s}", 2) for s in range(1, 6)]
    seen = observed(rows, relays)
    found = [one for one in detections(seen) if one.finding == "relays"]
    (told,) = incidents(found, {"probe": [day(n) for n in range(40)]}, day(39))
    last = hand_off_rows(told, Basis(seen, pl.DataFrame(), day(39))).row(-1, named=True)
    assert (last["expected"], last["high"]) == (told.latest.expected, told.latest.high)
    assert last["sessions"] == 6 + 3


def test_a_day_is_expected_from_those_before_it_alone() -> None:
    """Without a week of history nothing is; an unusual day leaves no more traces than a day off."""
    quiet = [(day(n), "probe", "implement", f"probe-{n}-{s}", 1) for n in range(30) for s in range(2) if n != 20]
    loud = [(day(20), "probe", "implement", f"more-{s}", 3) for s in range(9)]
    columns = ["day", "expected", "high", "found"]
    plain, risen = (
        relay_days(exposed(observed(relays=rows, night=29))).select(columns) for rows in (quiet, [*quiet, *loud])
    )
    assert plain["expected"].is_null().to_list() == [True] * MIN_DAYS + [False] * (29 - MIN_DAYS)
    assert risen["found"].to_list() == [number == 20 for number in range(30)]
    assert plain.equals(risen.filter(pl.col("day") != day(20)))


def test_the_numbers_of_retries_add_up_to_their_sentence(cases: dict[str, Case]) -> None:
    """The last week's share where it fell, all chains where they are in vain, the week's errors without a retry."""
    fell, vain, would = (cases[kind] for kind in ("recovery_fell", "retry_in_vain", "retry_would_pay"))
    row = last_row(fell)
    week = fell.numbers.tail(7)
    assert row["recovered_share"] == fell.finding.latest.observed == week["recovered"].sum() / week["chains"].sum()
    assert (row["week_recovered"], row["week_chains"]) == (week["recovered"].sum(), fell.finding.latest.groups)
    assert vain.numbers["chains"].sum() == vain.finding.latest.groups
    assert would.numbers["untried"].tail(7).sum() == would.finding.latest.groups


def test_the_numbers_of_a_burst_are_its_repeats(cases: dict[str, Case]) -> None:
    """All of them, in order, at the moments at which they came."""
    case = cases["burst"]
    assert case.numbers["repeats"].sum() == case.finding.latest.observed
    assert case.numbers["begins_at"].is_sorted()
    assert case.numbers["begins_at"][0] == datetime(2026, 10, 26, 8, 5)
    assert set(case.numbers["seconds"]) == {60}
    assert case.sessions.rows() == [("burst-49-5", START + timedelta(days=DAYS - 1), 63)]


def _burst(cases: dict[str, Case], seconds: list[int]) -> pl.DataFrame:
    """The moments of the burst, were its repeats so many seconds after midnight."""
    one: Finding = cases["burst"].finding
    midnight = datetime(2026, 10, 26)
    rows = [
        (one.scope.caller, one.scope.session, one.scope.template, midnight + timedelta(seconds=each), 2)
        for each in seconds
    ]
    names = ["caller", "session", "template", "second_at", "events"]
    stranger = [(*rows[0][:2], "other", *rows[0][3:]), (*rows[0][:1], "other", *rows[0][2:])]
    repeats = pl.DataFrame([*rows, *stranger], schema=names, orient="row")
    return burst_rows(one, Basis(observed(night=59), repeats, day(59)))


@pytest.mark.parametrize(
    ("seconds", "width"),
    named(
        {
            "within a minute": (list(range(50)), 1),
            "most of an hour": (list(range(0, 3_000, 7)), 60),
            "all day": (list(range(59, 86_400, 61)), 3_600),
            "one moment": ([5], 1),
            "the next day is another matter": ([0, 86_400], 1),
        }
    ),
)
def test_a_burst_is_cut_into_few_stretches(cases: dict[str, Case], seconds: list[int], width: int) -> None:
    """As short as they may be; no repeat is lost, and none of other sessions, messages or days counts."""
    found = _burst(cases, seconds)
    assert set(found["seconds"]) == {width}
    assert found.height <= MAX_MOMENTS
    assert found["repeats"].sum() == 2 * sum(each < 86_400 for each in seconds)


def test_a_burst_without_repeats_has_no_rows(cases: dict[str, Case]) -> None:
    """Its events may have been pruned in the meantime."""
    assert _burst(cases, [-5]).is_empty()


def test_what_is_behind_a_finding_is_capped(cases: dict[str, Case]) -> None:
    """Ten sessions, those with the most errors and then the latest first."""
    shown = cases["drift"].sessions
    assert shown.height == 10
    assert shown["day"].is_sorted(descending=True)


@pytest.mark.no_cover  # it runs what other tests reach
def test_a_report_of_very_many_findings_looks_behind_the_gravest(store: Store, cases: dict[str, Case]) -> None:
    """Of more than thirty findings the others are told with frames that have no rows."""
    seen = observe_window(store, Window(), store.judge_history())
    many = look_behind(store, [cases["drift"].finding] * (MAX_CASES + 5), seen, seen.days[-1])
    assert len(many) == MAX_CASES + 5
    assert not many[MAX_CASES - 1].sessions.is_empty()
    left = many[MAX_CASES]
    assert left.sessions.is_empty()
    assert left.sessions.schema == many[0].sessions.schema
    assert left.templates.schema == many[0].templates.schema
