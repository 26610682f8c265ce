"""Changes that people write down, such as `retries 5 → 3`: what they expected of each, and what became of that.

A change is an event in the journal, as decisions on findings are. After a week its expectations are judged by
`compare`: the seven days from the change on beside the seven before.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from datetime import datetime, timedelta
from typing import Any

from analyzer.analysis.comparison import FIGURES, ComparedFigure, Comparison, compare
from analyzer.analysis.tables import Window, json_ready, table
from analyzer.classifier import REASONS
from analyzer.command_lines import command_line
from analyzer.errors import AnalyzerError
from analyzer.events.times import format_time, now
from analyzer.frozen import frozen
from analyzer.store import Store

SPAN = timedelta(days=7)
"""The days before and after a change that are compared."""
MOST_CHARACTERS = 500
_EXPECTED = re.compile(r"\A(\w{1,60})=([+-]\d{1,5}(?:\.\d{1,6})?)%\Z")
_SHORTEST = 4


@frozen
class NotedChange:
    """A change that somebody wrote down."""

    id: str
    text: str
    changed_at: datetime
    """Naive UTC."""
    by: str | None
    expected: Mapping[str, float]
    """Figure of `compare` → its expected change as a share: -0.3 is 30 % less."""


@frozen
class Expectation:
    """What was expected of a figure, and what became of it."""

    figure: str
    title: str
    expected: float
    """As a share: -0.3 is 30 % less."""
    realised: float | None
    """Null with nothing to compare."""
    low: float | None
    """Lower end of the interval of `realised`, that of `compare`."""
    high: float | None
    verdict: str
    """`as_expected`, `more`, `less`, `opposite`, `not_seen` (noise, and the expected change is outside of the
    interval), `unclear` (noise, and it is inside) or `too_few`."""


@frozen
class ChangeOutcome:
    """A change with what became of it."""

    change: NotedChange
    judged_from: datetime
    """When its week is over, naive UTC."""
    comparison: Comparison | None
    """The week from the change on beside the week before; None until it is over."""
    expectations: tuple[Expectation, ...]
    others: tuple[str, ...]
    """Texts of other changes within the two weeks: what became of both cannot be told apart."""

    def to_dict(self) -> dict[str, Any]:
        """Return a JSON-ready dict."""
        clear = self.comparison.clear if self.comparison else ()
        return {
            **json_ready(self.change),
            "judged_from": format_time(self.judged_from),
            "is_judged": self.comparison is not None,
            "expectations": json_ready(self.expectations),
            "clear_changes": [figure.figure for figure in clear],
            "others": list(self.others),
        }


def expected_changes(texts: Iterable[str]) -> dict[str, float]:
    """Return the figures and shares of texts like `waited_seconds=-30%`.

    Raises:
        AnalyzerError: a text is of another form, names no figure, or has a fall of more than 100 %.
    """
    figures = (*FIGURES, *(f"sessions_{reason}" for reason in REASONS))
    expected = {}
    for text in texts:
        match = _EXPECTED.fullmatch(text)
        if match is None:
            raise AnalyzerError(f"not FIGURE=±PERCENT%: {text!r}", "write --expect waited_seconds=-30%")
        if match[1] not in figures:
            raise AnalyzerError.unknown_value("figure", match[1], figures)
        share = float(match[2]) / 100
        if share < -1:
            raise AnalyzerError(f"{text}: a figure cannot fall by more than 100%", "write -100% for all of it")
        expected[match[1]] = share
    return expected


def note_change(
    store: Store, text: str, at: datetime | None = None, *, expected: Mapping[str, float] | None = None, by: str = ""
) -> NotedChange:
    """Write down a change that was made at a moment (naive UTC; None: now). `by` is who says so.

    Raises:
        AnalyzerError: no text, too long a one, or a moment that is still to come.
        StoreError: the store or its journal cannot be written.
    """
    words, moment = " ".join(text.split()), at or now()
    if not 0 < len(words) <= MOST_CHARACTERS:
        raise AnalyzerError(f"a change of {len(words)} characters", f"describe it in 1 to {MOST_CHARACTERS}")
    if moment > now():
        raise AnalyzerError(f"{format_time(moment)} is still to come", "write a change down once it is made")
    store.decide([("change.noted", {"text": words, "expected": dict(expected or {}), "by": by})], at=moment)
    return max(_noted(store), key=lambda change: change.id)  # ids of events ascend with time


def withdraw_change(store: Store, name: str) -> NotedChange:
    """Withdraw the change whose id begins so, and return it.

    Raises:
        AnalyzerError: no change has such an id, or several do.
        StoreError: the store or its journal cannot be written.
    """
    close = [change for change in _noted(store) if len(name) >= _SHORTEST and change.id.startswith(name)]
    if len(close) != 1:
        problem = f"{len(close)} changes begin with" if close else "no change"
        raise AnalyzerError(f"{problem} {name!r}", f"see: {command_line('change', store=store.path)}")
    store.decide([("change.withdrawn", {"change": close[0].id})])
    return close[0]


def change_outcomes(store: Store, window: Window | None = None) -> tuple[ChangeOutcome, ...]:
    """Return the changes of a window, newest first, each with what became of it.

    Raises:
        QueryError: the store cannot be asked.
    """
    changes = _noted(store)
    since, until = (window.since, window.until) if window else (None, None)
    outcomes = []
    for change in reversed(changes):
        at = change.changed_at
        if (since and at < since) or (until and at >= until):
            continue
        others = [other.text for other in changes if other is not change and abs(other.changed_at - at) < SPAN]
        comparison = None
        if at + SPAN <= now():
            comparison = compare(store, Window(at - SPAN, at), Window(at, at + SPAN))
        expectations = _expectations(change, comparison) if comparison else ()
        outcomes.append(ChangeOutcome(change, at + SPAN, comparison, expectations, tuple(others)))
    return tuple(outcomes)


def _noted(store: Store) -> list[NotedChange]:
    return [
        NotedChange(row["id"], row["change"], row["changed_at"], row["noted_by"], json.loads(row["expected"] or "{}"))
        for row in table(store, "changes-noted", Window()).frame.iter_rows(named=True)
    ]


def _expectations(change: NotedChange, comparison: Comparison) -> tuple[Expectation, ...]:
    figures = {figure.figure: figure for figure in comparison.figures}
    return tuple(_expectation(name, share, figures.get(name)) for name, share in change.expected.items())


def _expectation(name: str, expected: float, figure: ComparedFigure | None) -> Expectation:
    """Hold a figure's change, as a share of what it was before, against the expected one."""
    title = figure.title if figure else name.replace("_", " ")
    if figure is None or not figure.before or figure.change is None or figure.low is None or figure.high is None:
        return Expectation(name, title, expected, None, None, None, "too_few")
    realised, low, high = (value / figure.before for value in (figure.change, figure.low, figure.high))
    inside, is_noise = low <= expected <= high, figure.verdict == "noise"
    if is_noise:
        verdict = "unclear" if inside else "not_seen"
    elif realised * expected < 0:
        verdict = "opposite"
    elif inside:
        verdict = "as_expected"
    else:
        verdict = "more" if abs(realised) > abs(expected) else "less"
    return Expectation(name, title, expected, realised, low, high, verdict)
