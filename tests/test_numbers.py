"""Numbers that a page states are those of the code that owns them."""

from __future__ import annotations

import ast
from datetime import date
from math import ceil

from analyzer import config_files
from analyzer.analysis import observations, periods
from analyzer.analysis.kinds import finding_fields as fields
from analyzer.analysis.kinds.detection import Detection, Settings
from analyzer.analysis.kinds.families import (
    bursts,
    hours,
    new_messages,
    relays,
    retries,
    shares,
    silence,
    volumes,
)
from analyzer.analysis.kinds.statistics import rates
from analyzer.analysis.kinds.statistics import units as volume_units
from analyzer.analysis.nightly import check, decisions, detections, evidence
from analyzer.analysis.rules import similar_templates as similar
from analyzer.analysis.rules import unknowns
from analyzer.analysis.summary import day_figures
from analyzer.classifier import fingerprint
from analyzer.classifier.reading import facts, reset_times
from analyzer.classifier.rules import lint, text_evidence
from analyzer.cli import delivery as posting
from analyzer.cli import receiving, sandbox
from analyzer.cli.commands import questions
from analyzer.events import codec, sanitize
from analyzer.events.appending import appender
from analyzer.importers import failures, heads
from analyzer.readable import percent
from analyzer.recovery import Backoff, Limits, RelaySettings
from analyzer.recovery.context import conversation, progress, strategies
from analyzer.recovery.context.recovery import ContextSettings
from analyzer.recovery.process import streams
from analyzer.recovery.relay import checkpoint, config, monitor, summarizers
from analyzer.recovery.retry import observing
from analyzer.redaction import engine, unfolding
from analyzer.report import FORMATS
from analyzer.report import unknowns as terminal
from analyzer.report.night import messages as webhook
from analyzer.report.night import metrics as prometheus
from analyzer.store.db import location
from analyzer.store.ingest import batch, discover, identity, inputs, read
from tests import REPOSITORY, each_row

WORDS = ("none", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten")
DEFAULT, backoff, context, limits, relay = Settings(), Backoff(), ContextSettings(), Limits(), RelaySettings()


def of(**figures: float) -> Detection:
    """A day's detection with these figures."""
    return Detection(day=date(2026, 11, 9), caller="probe", finding="spike", **figures)  # type: ignore[arg-type]


COUNTS = range(1, 100)
FIRST_CRITICAL = next(
    n for n in COUNTS if shares.severity_of_share(of(sessions=n, observed=0.25, expected=0.2)) == "critical"
)
FIRST_WARNING = next(n for n in COUNTS if new_messages.severity_of_message(of(sessions=n)) == "warning")
HALF = {0.5: "half"}
HUGE = {10: "tenth", 12: "twelve", 1_000: "a thousand"}
STATED = {
    "reference/check.md": (
        f"on {WORDS[periods.QUIET_DAYS]} days at work this was not seen; {WORDS[periods.QUIET_RISE_DAYS]} day is",
        f"it is {WORDS[periods.ACCEPT_DAYS // 7]} weeks old, and from now on the normal",
        f"critical where {FIRST_CRITICAL} sessions or more show it and the share is 25%",
        f"warning from {FIRST_WARNING} sessions",
        f"every session fails ({fields.EVERY} in a row at least",
        f"{fields.MANY_SESSIONS} sessions failed, and they are {HALF[fields.GREAT_SHARE]} of those seen",
        f"{fields.LONG_WAIT_SECONDS / 3_600:g} hours spent waiting",
        f"{fields.WAIT_SECONDS / 3_600:g} hour spent waiting",
        f"fewer than {fields.MANY_SESSIONS} failed",
        f"are judged, {check.MAX_HOURS} at most",
        f"of the {hours.BACK_DAYS} days before, and against whole days",
        (
            f"too quiet (fewer than {WORDS[hours.LEAST_MORE]} sessions with an error more than expected) or have too "
            f"little before them ({WORDS[rates.MIN_DAYS]} days, or {WORDS[rates.MIN_DAYS_OF_SHARES]} where logs show"
        ),
        f"repeats one message {bursts.MIN_REPEATS} times or more",
        f"at most {detections.FALSE_DISCOVERY_RATE:.0%} of a kind's findings are expected to be false",
        f"(new messages: {DEFAULT.false_discovery_rate:.1%})",
        f"a rise of an unknown share needs p ≤ {DEFAULT.share_alpha:g}",
        f"in the {decisions.COUNTED_WEEKS} weeks before, from {WORDS[decisions.LEAST_WEEKS]} weeks on",
        f"Samples are cut at {evidence.MAX_SAMPLE_CHARS:,} characters",
        f"a line a finding with its title, {WORDS[webhook.MAX_TEXT_FINDINGS]} at most",
        f"up to {posting.MAX_WAIT_SECONDS:g} seconds",
        f"The {day_figures.MAX_CALLERS} callers with the most errors are named",
        f"what each open one observed, {prometheus.MAX_FINDINGS} at most",
    ),
    "explanation/detection.md": (
        f"from the {periods.BASELINE_DAYS} days before",
        f"older than {observations.HISTORY_DAYS} days",
        f"more than {WORDS[shares.MOST_GROUPS]} of a session",
        f"fewer than {WORDS[rates.MIN_DAYS_OF_SHARES]} days",
        f"did not show for {periods.TEMPLATE_MEMORY_DAYS} days",
        f"show within {periods.TEMPLATE_DAYS} days",
        f"needs p ≤ {DEFAULT.template_alpha:g}",
        f"A rise that has lasted for {WORDS[periods.ACCEPT_DAYS // 7]} weeks ends as `accepted`",
        f"({WORDS[hours.LEAST_MORE]} in all of an error that hardly ever comes), and p ≤ {DEFAULT.hour_alpha:g} at",
        f"p ≤ {DEFAULT.volume_alpha:g} for a day",
        f"- {WORDS[ceil(volume_units.LEAST_MORE)]} sessions, and {volume_units.LEAST_MORE:g} distinct errors more than",
        f"at spans of {', '.join(map(str, list(volume_units.SPANS)[1:-1]))} and {max(volume_units.SPANS)} days",
        f"Of a host p is a {HUGE[volumes.RARER]} of what it is else",
        f"- {volume_units.LEAST_RATIO:g} times the expected number, or {volume_units.UNSEEN_RATIO:g} times where no",
        f"every stretch of {', '.join(map(str, hours.WINDOWS[:-1]))} and {hours.WINDOWS[-1]} hours",
        f"the same hours of the {hours.BACK_DAYS} days before, and with whole days",
        f"more than expected and {hours.RATIO:g} times as many are needed",
        f"chance explains so few badly (p ≤ {silence.ALPHA:g})",
        f"chance explains so few badly (p ≤ {DEFAULT.wording_alpha:g} over all rules",
        f"one session, one template, {bursts.MIN_REPEATS} repeats or more",
        f"{relays.MIN_RELAYS} hand-offs, {relays.MIN_RATIO:g} times expected",
        f"a fall of {retries.MIN_DROP * 100:.0f} points at least",
        f"interval at most {retries.NEVER_PAYS * 100:.0f} %",
        f"the lower end at least {retries.WOULD_PAY * 100:.0f} %",
    ),
    "how-to/receive.md": (
        f"{receiving.MOST_WAITING >> 20} MiB or {receiving.MOST_CONNECTIONS} requests wait for the disk",
        f"a body over {receiving.MOST_BODY >> 20} MiB, over {receiving.MOST_UNPACKED >> 20} MiB unpacked",
        f"of more than {codec.MOST_ITEMS:,} items",
        f"more than {codec.MAX_DEPTH} levels",
        f"{receiving.FILE_BYTES >> 20} MiB at most",
        f"has {receiving.REQUEST_SECONDS:g} seconds to arrive",
    ),
    "how-to/observe.md": (f"within {observing._BODY_SECONDS} seconds or {observing._BODY_BYTES >> 10} KiB",),
    "how-to/sql.md": (
        f"`--format` is {', '.join(f'`{name}`' for name in FORMATS[:-1])} or `{FORMATS[-1]}`",
        f"at most {questions.DEFAULT_LIMIT:,} rows",
    ),
    "reference/json.md": (
        f"(messages, {evidence.MAX_SAMPLE_CHARS:,} characters at most)",
        f"Rows by day begin {periods.BASELINE_DAYS} days before the onset",
    ),
    "explanation/classifier.md": (
        f"cut: messages at {facts.MESSAGE_CHARS:,} characters, streams at {facts.STREAM_CHARS:,}",
        f"at most {facts.MAX_CAUSES} deep",
        f"In a message of more than {text_evidence.LOOSE_CHARS} characters",
    ),
    "explanation/security.md": (
        f"after {engine.MAX_SECRETS} secrets of one rule in a text",
        f"or {HUGE[engine.MAX_LOOKS]} places that it looked at",
        f"up to {HUGE[unfolding.MAX_FORMS]} of them",
        f"quarantine keeps the first {batch.KEPT_TEXT:,} characters",
        f"redacted and cut at {failures._KEPT} characters",
        f"at the latest {WORDS[sandbox._GRACE_SECONDS]} seconds after its time is over",
        f"`--memory` ({questions.DEFAULT_MEMORY}",
        f"files of at most {config_files.MOST_BYTES >> 20} MiB and {config_files.MOST_LEVELS} levels of nesting",
        f"at most `--timeout` seconds ({questions.DEFAULT_SECONDS:g})",
        f"A cut by `--limit` ({questions.DEFAULT_LIMIT:,} rows)",
    ),
    "how-to/nightly.md": (f"waits up to {WORDS[round(location.PATIENCE_SECONDS)]} seconds for a writer",),
    "how-to/recovery.md": (
        f"`min({backoff.cap_seconds:g} s, {backoff.base_seconds * 1000:g} ms · 2ⁿ) · (1 ± {backoff.jitter * 100:g} %)`",
        f"at the target ratio ({context.target_ratio:g}) of the limit",
        (
            f"cuts tool outputs over {context.truncate_over_chars:,} characters to their first "
            f"{context.truncate_over_chars * strategies.KEPT_SHARE:,.0f}"
        ),
        f"but keeps the task and the last {strategies.KEEP_LAST} messages",
        f"keeps the task and the last {strategies.KEEP_RECENT} messages",
        (
            f"{WORDS[conversation.BYTES_PER_TOKEN]} bytes of UTF-8 a token, "
            f"{conversation.MEDIA_TOKENS:,} for an attachment, "
            f"{conversation.LOW_DETAIL_TOKENS} for an image"
        ),
        f"After {WORDS[context.max_attempts]} in a row that did not last",
        (
            f"by a new question or by {WORDS[progress.LASTING_ANSWERS]} answers, or when no overflow followed for "
            f"{WORDS[round(context.lasting_seconds / 60)]} minutes"
        ),
    ),
    "how-to/rules.md": (
        f"more than {lint.MAX_RULE_SIZE:,} RE2 instructions, or all of them more than {lint.MAX_TOTAL_SIZE:,}",
        f"In a message of more than {text_evidence.LOOSE_CHARS} characters",
    ),
    "how-to/run.md": (
        f"Lines of more than {streams.MAX_LINE_BYTES >> 20} MiB pass through unread",
        f"longer than `--max-wait` ({limits.max_wait_seconds:g} s)",
        f"one more than {reset_times.FARTHEST.days} days ahead), it comes back after an hour",
        f"else {config.DEFAULT_CONTEXT_WINDOW:,};",
        f"`summarizer_token_cap` tokens ({relay.summarizer_token_cap:,})",
        f"`checkpoint_token_cap` tokens ({relay.checkpoint_token_cap:,})",
        f"| `threshold_percent` | {relay.threshold_percent:g} |",
        f"the {monitor.MOST + 1}st hand-off of a step",
        f"the next hand-off is due {monitor.PUT_OFF_PERCENT:g} points later",
        f"It has {WORDS[round(summarizers.TIMEOUT_SECONDS / 60)]} minutes",
        f"estimated at {WORDS[checkpoint.CHARS_PER_TOKEN]} characters each",
    ),
    "how-to/unknowns.md": (
        f"The first {fingerprint.MAX_CHARS:,} characters of a message make its template",
        f"{fingerprint.MAX_TEMPLATE_CHARS:,} characters of that are kept",
        (
            f"are in that place: {similar.NEEDED[2]} where two constant words are left beside it, "
            f"{similar.NEEDED[3]} where three to five are, {similar.NEEDED[6]} where six or more are"
        ),
        f"if {WORDS[similar.MIN_COVERING]} of its own words are constant",
        f"(the latest {unknowns.MAX_MESSAGES})",
        f"a likeness of at least {similar.MIN_LIKENESS_FOR_REASON:g}, and {similar.MIN_SHARE_FOR_REASON:.0%}",
        f"more than {terminal.TREND_DAYS} days share bars",
    ),
    "reference/events.md": (
        (
            f"Texts end after {sanitize.MAX_TEXT:,} characters, lists and objects after {sanitize.MAX_ITEMS:,} items, "
            f"nesting after {sanitize.MAX_LEVELS} levels"
        ),
        f"Over {appender.MAX_LINE_BYTES >> 20} MiB, a placeholder",
        f"would grow over {appender.DEFAULT_MAX_BYTES >> 20} MiB",
        f"at most {engine.MAX_SECRETS} secrets of a kind",
        f"over the cap of {read.MAX_LINE >> 20} MiB",
        f"its first {identity.FINGERPRINT_BYTES:,} bytes and the last {identity.MARK_BYTES:,}",
        f"to more than {inputs.ANY_RATIO >> 20} MiB and {inputs.MAX_RATIO} times its size",
        f"more than {discover.DEEPEST} folders",
    ),
    "reference/formats.md": (f"its first {heads._LOOKED_AT} lines (of the first {heads.HEAD_BYTES >> 10} KiB)",),
}


def test_a_rise_is_critical_where_the_page_says() -> None:
    """From a quarter on, or from five times the expected share on, which is taken as 1 % at least."""
    many = {"sessions": FIRST_CRITICAL}
    assert shares.severity_of_share(of(**many, observed=0.24, expected=0.05)) == "warning"
    assert shares.severity_of_share(of(**many, observed=0.24, expected=0.048)) == "critical"
    assert shares.severity_of_share(of(**many, observed=0.05, expected=0.0)) == "critical"
    assert shares.severity_of_share(of(**many, observed=0.049, expected=0.0)) == "warning"


def test_every_share_has_one_decimal() -> None:
    """`readable.percent` alone writes a share, so that a fact has the same digits wherever somebody reads it."""
    specs = [
        f"{path.name}: {ast.unparse(node)}"
        for path in (REPOSITORY / "analyzer").rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text("utf-8")))
        if isinstance(node, ast.FormattedValue) and node.format_spec and ast.unparse(node.format_spec).endswith("%'")
    ]
    assert specs == []
    assert [percent(share) for share in (None, 0, 0.0449, 1)] == ["–", "0.0%", "4.5%", "100.0%"]


@each_row("page, said", [(page, said) for page, rows in STATED.items() for said in rows])
def test_a_page_states_the_number_of_the_code(page: str, said: str) -> None:
    """The sentence stands in the page with the present value."""
    text = " ".join((REPOSITORY / "docs" / page).read_text("utf-8").split())
    assert said in text
