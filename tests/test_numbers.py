"""Numbers that a page states are those of the code that owns them."""

from __future__ import annotations

import pytest

from analyzer.analysis.detection import burst, crowd, relays, retries, settings, share
from analyzer.analysis.detection.statistics import baseline, noise
from analyzer.analysis.nightly import calibration, detections, evidence, incidents
from analyzer.cli import webhook as posting
from analyzer.report.documents import prometheus, webhook
from tests import REPOSITORY

WORDS = ("none", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten")
DEFAULT = settings.Settings()
STATED = {
    "reference/check.md": (
        f"{settings.RECENT_DAYS} days against {settings.BASELINE_DAYS}",
        f"{WORDS[incidents.QUIET_DAYS]} days with errors of that caller and without it",
        f"{WORDS[settings.ACCEPT_DAYS // 7]} weeks old, and from now on the normal",
        f"repeats one message {burst.MIN_REPEATS} times or more",
        f"at {detections.FALSE_DISCOVERY_RATE:.0%} (shares and messages: {DEFAULT.false_discovery_rate:.1%})",
        f"{calibration.MEASURED_DAYS} days, whole callers up to {calibration.SAMPLE} caller-days",
        f"drawn {WORDS[calibration.DRAWS]} times",
        f"more than {calibration.BUDGET:g} per 1,000 caller-days",
        f"Samples are cut at {evidence.MAX_SAMPLE_CHARS:,} characters",
        f"a line a finding, {WORDS[webhook.MAX_TEXT_FINDINGS]} at most",
        f"up to {posting.MAX_WAIT_SECONDS:g} seconds",
        f"what each open one observed, {prometheus.MAX_FINDINGS} at most",
        f"Where {crowd.LEAST_CROWD:,} callers or more were seen",
    ),
    "explanation/detection.md": (
        f"from the {settings.BASELINE_DAYS} days before",
        f"as much as {baseline._STRATUM_SESSIONS:g} sessions or {baseline._STRATUM_GROUPS:g} groups",
        f"as much as {baseline._WEAKEST:g} to {baseline._STRONGEST:g} trials",
        f"fewer than {share.LEAST_SESSIONS} sessions or {WORDS[share.LEAST_DAYS]} typical days",
        f"standard deviations: {', '.join(f'{each:g}' for each in noise.DAY_NOISES)}",
        f"up to {WORDS[noise._FLEET_CALLERS]} other callers count too, with {noise._FLEET_WEIGHT:g} of the weight",
        f"when it is {WORDS[baseline.NOISE_GAP // 7]} weeks old",
        f"in cells of {noise._CELL:g} log-odds",
        f"the last {', '.join(str(days) for days in settings.DRIFT_SPANS)} days",
        f"before the span, at least {settings.DRIFT_GAP} days back",
        f"still have p ≤ {share._PERSISTENT:g}",
        f"did not show for {settings.TEMPLATE_MEMORY_DAYS} days",
        f"show within {settings.TEMPLATE_DAYS} days",
        f"needs p ≤ {DEFAULT.template_alpha:g}",
        f"{settings.ACCEPT_DAYS} days after its onset the level is the new baseline",
        f"A second spike within {WORDS[share._NEAR_DAYS]} days",
        f"splits the last {share.ONSET_DAYS} days best in two",
        f"over the new one passes {share._RECOVERED:g}",
        f"| 1 to {settings.RUNGS} |",
        f"one session, one template, {burst.MIN_REPEATS} repeats or more",
        f"{relays.MIN_RELAYS} hand-offs, {relays.MIN_RATIO:g} times expected",
        f"a fall of {retries.MIN_DROP * 100:.0f} points at least",
        f"interval at most {retries.NEVER_PAYS * 100:.0f} %",
        f"the lower end at least {retries.WOULD_PAY * 100:.0f} %",
    ),
}


@pytest.mark.parametrize(("page", "said"), [(page, said) for page, rows in STATED.items() for said in rows])
def test_a_page_states_the_number_of_the_code(page: str, said: str) -> None:
    """The sentence stands in the page with the present value."""
    text = " ".join((REPOSITORY / "docs" / page).read_text("utf-8").split())
    assert said in text
