"""`KINDS`: one row a kind of finding, with all that a night, a report and its charts say of it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from analyzer.analysis.detection.detection import Detection
from analyzer.analysis.detection.settings import RECENT_DAYS
from analyzer.analysis.kinds import chart_numbers, errors_behind, sentences, severity
from analyzer.analysis.kinds.chart_numbers import ChartForm
from analyzer.analysis.kinds.errors_behind import NOTHING, Behind

if TYPE_CHECKING:
    from analyzer.analysis.nightly.findings import Finding

SHARE = "share"
"""The family of rises of the unknown share."""
MESSAGE = "message"
"""The family of new messages, and of those that took the place of what a rule matched."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Kind:
    """One kind of finding. What the defaults say holds for a kind that another version of this program wrote down."""

    title: str
    """What a headline says."""
    metric: str | None = None
    """What `observed` and `expected` are; None where the finding has no such figures."""
    percent: bool = False
    """Whether documents show these two figures in percent."""
    severity: Callable[[Detection], str] = severity.info
    """How grave a day of it is."""
    sentence: Callable[[Finding], str] = sentences.noted
    """What happened, without the caller's name before it and the full stop behind it."""
    quotes: bool = False
    """Whether the sentence ends with the most frequent message."""
    advice: str = ""
    """What to do next, in words."""
    asks: tuple[str, ...] = ()
    """The words of the command that shows more; MESSAGE and SESSION are its own."""
    family: str | None = None
    """Detections of one family are one incident, whichever test made them; None: the kind is alone in its own."""
    scope: str | None = None
    """The field of `Scope` that a detection's `scope` is; None where it has none."""
    cause: bool = False
    """Whether it is never told alone: it says why another finding opened."""
    explains: bool = False
    """Whether it may be the cause that another finding tells with it, from the night on that opens this one."""
    asked: bool = False
    """Whether a new one is asked for its causes."""
    part_of_rise: bool = False
    """Whether a rise of the same caller's share speaks for it."""
    part_of_wave: bool = False
    """Whether a rise of the same caller's errors speaks for it, or of the fleet an outage: these bring texts."""
    priced: bool = False
    """Whether sessions fail by it: then it has a cost, which its severity follows."""
    evidence: Callable[[Finding], str | None] = errors_behind.own_reason
    """The reason of the errors that a night quotes and names; None for any."""
    evidence_days: int = 1
    """The days up to its last one from which a night quotes and names errors."""
    behind: Behind = NOTHING
    """The errors that a report shows behind it."""
    chart: ChartForm | None = None
    """Its chart in a report and the numbers of it; None for causes."""


MESSAGE_ITSELF, SESSION_ITSELF = "MESSAGE", "SESSION"
"""In a command, the most frequent message of a finding, and its session."""
_BY_OUTCOME = ("query", "errors-by-reason-caller-outcome")
_CHAINS = ("query", "retries-outcomes")

_RISE = Kind(
    title="",
    metric="share of distinct errors that are unknown, 0..1",
    percent=True,
    severity=severity.of_rise,
    sentence=sentences.rise,
    quotes=True,
    advice="write a rule for them; the command drafts one",
    asks=("unknowns", "--suggest"),
    family=SHARE,
    asked=True,
    priced=True,
    evidence=errors_behind.unknown,
    behind=errors_behind.UNKNOWN,
    chart=chart_numbers.SHARE,
)
_RETRIES = Kind(
    title="",
    metric="share of retry chains that recovered, 0..1",
    scope="reason",
    evidence_days=RECENT_DAYS,
    behind=errors_behind.CHAINS,
    chart=chart_numbers.RECOVERY,
)

_VOLUME = Kind(
    title="",
    metric="distinct errors (pairs of session and message) of the span that was judged",
    severity=severity.of_volume,
    sentence=sentences.more_errors,
    quotes=True,
    advice="see which errors they are",
    asks=_BY_OUTCOME,
    priced=True,
    behind=errors_behind.EVERY,
    chart=chart_numbers.VOLUME,
)

_MESSAGE = Kind(
    title="",
    metric="sessions that show the message",
    severity=severity.warning,
    quotes=True,
    advice=_RISE.advice,
    asks=_RISE.asks,
    family=MESSAGE,
    priced=True,
    evidence=errors_behind.unknown,
    behind=errors_behind.UNKNOWN,
)

KINDS = {
    "spike": replace(_RISE, title="Unknown errors spiked"),
    "drift": replace(_RISE, title="Unknown errors drift upwards"),
    "template": replace(
        _MESSAGE,
        title="A new unknown message",
        severity=severity.of_message,
        sentence=sentences.new_message,
        part_of_rise=True,
        chart=chart_numbers.MESSAGE,
    ),
    "shared_template": replace(
        _MESSAGE,
        title="A new unknown message at several callers",
        sentence=sentences.shared_message,
        chart=chart_numbers.SHARED_MESSAGE,
    ),
    "weak_template": replace(
        _MESSAGE,
        title="A new message that a rule knows by weak evidence",
        severity=severity.of_message,
        sentence=sentences.weak_message,
        advice="write a rule for it where the reason is wrong",
        asks=("rules", "explain", "--", MESSAGE_ITSELF),
        family=None,
        scope="reason",
        part_of_rise=True,
        part_of_wave=True,
        evidence=errors_behind.own_reason,
        behind=errors_behind.MESSAGE,
        chart=chart_numbers.WEAK_MESSAGE,
    ),
    "wording_changed": replace(
        _MESSAGE,
        title="The provider's wording changed",
        metric="sessions in which the rule matched since the new text came",
        sentence=sentences.reworded,
        scope="reason",
        explains=True,
        part_of_rise=True,
        evidence=errors_behind.reworded,
        chart=chart_numbers.WORDING,
    ),
    "volume": replace(_VOLUME, title="More errors than usual"),
    "unknown_rate": replace(
        _VOLUME,
        title="More sessions meet unknown errors",
        advice=_RISE.advice,
        asks=_RISE.asks,
        part_of_rise=True,
        evidence=errors_behind.unknown,
        behind=errors_behind.UNKNOWN,
    ),
    "outage": replace(
        _VOLUME,
        title="A provider fails at many callers",
        scope="provider",
        advice="ask the provider; let callers wait longer",
    ),
    "model_outage": replace(
        _VOLUME,
        title="A model fails at many callers",
        scope="model",
        advice="ask the provider, or use another model",
    ),
    "burst": Kind(
        title="One session repeats an error",
        metric="repeats of the message in the session",
        quotes=True,
        advice="look at that session; one session is no change of the world",
        asks=("show", SESSION_ITSELF),
        scope="session",
        part_of_rise=True,
        behind=errors_behind.MESSAGE,
        chart=chart_numbers.BURST,
    ),
    "reasons": Kind(
        title="The mix of reasons changed",
        metric="divergence of the two mixes (Jensen-Shannon), in bits",
        severity=severity.of_mix,
        sentence=sentences.mix,
        advice="see which errors they are",
        asks=_BY_OUTCOME,
        asked=True,
        part_of_rise=True,
        behind=errors_behind.GROWN_REASON,
        chart=chart_numbers.MIX,
    ),
    "relays": Kind(
        title="Hand-offs became more frequent",
        metric="hand-offs of the day",
        severity=severity.warning,
        sentence=sentences.hand_offs,
        advice="split steps that hand off often",
        asks=("query", "relays-by-step"),
        scope="step",
        behind=errors_behind.HAND_OFFS,
        chart=chart_numbers.HAND_OFFS,
    ),
    "recovery_fell": replace(
        _RETRIES,
        title="Retries recover less",
        severity=severity.warning,
        sentence=sentences.recovery_fell,
        advice="wait longer between calls, or ask the provider",
        asks=_CHAINS,
    ),
    "retry_in_vain": replace(
        _RETRIES,
        title="Retries buy nothing",
        sentence=sentences.retry_in_vain,
        advice="stop retrying it: the waits buy nothing",
        asks=_CHAINS,
    ),
    "retry_would_pay": replace(
        _RETRIES,
        title="Retries are not made that would pay",
        sentence=sentences.retry_would_pay,
        advice="let it be retried; the recovery table allows it",
        asks=_BY_OUTCOME,
    ),
    "classifier_changed": Kind(
        title="The classifier changed",
        metric="share of distinct errors that are judged otherwise than they were recorded, 0..1",
        advice="see what is judged otherwise",
        asks=("query", "ruleset-drift"),
        scope="reason",
        cause=True,
        explains=True,
        evidence=errors_behind.judged_otherwise,
    ),
    "traffic_changed": Kind(title="The traffic changed", cause=True, explains=True),
}
"""By name; causes in the order in which they are told."""


def kind_of(name: str) -> Kind:
    """What is said of a kind; of one that another version of this program wrote down its name alone."""
    return KINDS.get(name) or Kind(title=name)


def family_of(name: str) -> str:
    """What the incidents of a kind are told apart by, beside their scope: its family, else its own name."""
    return kind_of(name).family or name
