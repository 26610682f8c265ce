"""The table of the kinds of findings: every part is there, and what stands elsewhere agrees with it."""

from __future__ import annotations

import re
from datetime import date

import click
import pytest

from analyzer.analysis.kinds.detection import Detection
from analyzer.analysis.kinds.families.signals import SIGNALS
from analyzer.analysis.kinds.families.silence import SILENCE
from analyzer.analysis.kinds.families.versions import VERSIONS
from analyzer.analysis.kinds.finding import KINDS, NOTHING, RESOLUTIONS, Finding, Kind, family_of, kind_of
from analyzer.analysis.kinds.finding_fields import SEVERITIES
from analyzer.analysis.kinds.scope import Scope
from analyzer.analysis.periods import ACCEPT_DAYS, BASELINE_DAYS, RECENT_DAYS
from analyzer.cli.commands.checking import check_command as check
from analyzer.report.overview_words import course
from analyzer.store import views
from tests import REPOSITORY, each_row

NAMES = sorted(KINDS)
NO_ERRORS = {*SIGNALS, *SILENCE, *VERSIONS}
FIGURES = {"observed": 0.3, "expected": 0.1, "low": 0.05, "high": 0.2, "p_value": 1e-6, "sessions": 4, "groups": 9}


def row(page: str, name: str) -> list[str]:
    """What a page of the documentation has beside the name of a kind, in its tables and lists."""
    text = (REPOSITORY / "docs" / page).read_text("utf-8")
    return [
        *re.findall(rf"^\| [^|]*`{name}`[^|]* \| ([^|]+) \|", text, re.MULTILINE),
        *re.findall(rf"^- [^:\n]*`{name}`[^:\n]*: (.+)$", text, re.MULTILINE),
    ]


def finding(kind: str, **fields: object) -> Finding:
    """A finding of a kind with every figure."""
    known: dict[str, object] = {"caller": "probe", "template": "abc", "scope": "some-scope", "note": "it was noted."}
    latest = Detection(day=date(2026, 10, 9), finding=kind, **{**known, **FIGURES})  # type: ignore[arg-type]
    days = {"opened_on": date(2026, 10, 9), "last_on": date(2026, 10, 9)}
    return Finding(id="f", state="new", severity="info", latest=latest, **days, **fields)  # type: ignore[arg-type]


@each_row("name", NAMES)
def test_every_kind_has_its_words_and_its_severity(name: str) -> None:
    """A headline, a sentence without a hole, a severity by its figures, and a scope that a finding has."""
    kind, one = KINDS[name], finding(name)
    assert one.kind is kind
    assert kind.title[0].isupper() and not kind.title.endswith(".")
    said = kind.sentence(one)
    assert said and "None" not in said and not said.endswith(".")
    assert kind.severity(one.latest) in SEVERITIES
    assert kind.severity(Detection(day=date(2026, 10, 9), caller=None, finding=name)) in SEVERITIES
    assert kind.scope is None or getattr(one.scope, kind.scope) == "some-scope"
    assert set(Scope.__slots__) >= {kind.scope} - {None}


@each_row("name", [name for name in NAMES if not KINDS[name].cause])
def test_every_kind_that_is_told_alone_has_its_figure_its_chart_and_its_errors(name: str) -> None:
    """A metric that is documented, advice, a chart with its numbers, and what a report shows behind it."""
    kind = KINDS[name]
    assert kind.advice
    # Signals, such as sessions that stay away, are no errors: none speak for them.
    assert bool(kind.behind.said) == (name not in NO_ERRORS)
    assert (kind.behind is NOTHING) == (not kind.behind.said)
    assert kind.chart is not None and kind.chart.title and kind.chart.description and all(kind.chart.columns.values())
    assert kind.metric in row("reference/json.md", name)
    assert row("reference/check.md", name) and row("explanation/detection.md", name)
    told = next(column for column in views()["findings"].columns if column.name == "finding").description
    assert name in re.findall(r"\w+", told)


def test_findings_of_a_week_are_looked_up_in_its_days() -> None:
    """A report shows the errors of 7 days behind them; of retries a night counts so many, or all seven weeks."""
    ended = date(2026, 10, 9)
    weeks = {name for name in NAMES if KINDS[name].behind.span(finding(name), ended)[0] == date(2026, 10, 3)}
    retries = {"recovery_fell", "retry_in_vain", "retry_would_pay"}
    assert weeks == retries
    weeks = dict.fromkeys(retries, BASELINE_DAYS + RECENT_DAYS) | {"recovery_fell": RECENT_DAYS}
    assert {name: days for name in NAMES if (days := KINDS[name].evidence.days) > 1} == weeks


def test_causes_are_told_with_another_finding() -> None:
    """They have no chart and nothing behind them, and are asked for by kinds that are told alone."""
    causes = {name for name, kind in KINDS.items() if kind.cause}
    assert causes == {"classifier_changed", "traffic_changed"}
    assert {name for name, kind in KINDS.items() if kind.explains} == {*causes, "wording_changed"}
    assert all(KINDS[name].chart is None and KINDS[name].behind is NOTHING for name in causes)
    assert {name for name, kind in KINDS.items() if kind.asked} == {"spike", "drift"}


def test_a_kind_of_another_version_goes_by_its_name() -> None:
    """A journal may hold findings that this program does not know."""
    assert kind_of("moon_phase") == Kind(title="moon_phase")
    assert family_of("moon_phase") == "moon_phase"
    assert kind_of("moon_phase").sentence(finding("moon_phase")) == "it was noted"


def test_a_sudden_and_a_slow_rise_are_one_family() -> None:
    """And so are new messages, whether they took the place of others or not; every other kind is alone in its own."""
    assert family_of("spike") == family_of("drift")
    assert family_of("template") == family_of("shared_template") == family_of("wording_changed")
    assert len({family_of(name) for name in NAMES}) == len(NAMES) - 3


@pytest.mark.parametrize("resolution", sorted(RESOLUTIONS))
def test_every_resolution_has_words_in_a_report(resolution: str) -> None:
    """The same that a terminal shows."""
    ended = finding("spike", resolved_on=date(2026, 10, 12), resolution=resolution)
    ended = Finding(**{**{name: getattr(ended, name) for name in Finding.__slots__}, "state": "resolved"})
    assert course(ended) == f"2026-10-09, resolved on 2026-10-12: {RESOLUTIONS[resolution]}"


def test_days_are_those_that_the_pages_and_words_name() -> None:
    """Six weeks before the last one, four weeks to a new normal."""
    assert (BASELINE_DAYS, RECENT_DAYS, ACCEPT_DAYS) == (42, 7, 28)
    check = (REPOSITORY / "docs" / "reference" / "check.md").read_text("utf-8")
    assert f"recovered in the last {RECENT_DAYS} days than in the {BASELINE_DAYS} before" in check
    assert f"{ACCEPT_DAYS // 7} weeks".replace("4", "four") in RESOLUTIONS["accepted"]


def test_the_command_line_knows_every_severity() -> None:
    """It names them itself, so that its help loads no analysis."""
    (option,) = (each for each in check.params if each.name == "fail_on")
    assert isinstance(option.type, click.Choice)
    assert tuple(option.type.choices) == SEVERITIES
