"""How careful to be with the retries of a verdict that rests on weak evidence.

Invariant: care only takes tries away and lengthens waits. A strong verdict, and a bare status that nothing else speaks
against, keep what the recovery table allows.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from analyzer.classifier import Classification

CAREFUL_CALLS = 2
"""Calls in all on weak words, or against them: the one after the wait shows whether they were right."""
_LATER = 3
"""Steps of the backoff that a careful first wait leaves out: with a factor of two it is eight times as long."""


class Care(NamedTuple):
    """What a verdict's evidence leaves of the recovery table."""

    most_calls: int | None = None
    """Calls in all; None: as many as the table says."""
    skipped_steps: int = 0
    """Steps by which the backoff begins later."""
    against: str | None = None
    """The rule of strong evidence that says not to try again, where one does."""


def care_of(verdict: Classification) -> Care:
    """The care that a verdict asks for.

    Weak words leave two calls, with a longer wait between them, and so does a bare status whose body speaks of
    something that is not tried again. Where the body names that by a rule's own words, code or type, nothing is tried:
    unless there is something to wait for or to compress, which the next call then shows.
    """
    if verdict.confidence != "weak" or not verdict.retryable:
        return Care()
    against, worded = verdict.objections
    if against is not None and verdict.reason == "network_transient":
        return Care(1, 0, against)
    if against is not None or worded or verdict.evidence == "text":
        return Care(CAREFUL_CALLS, _LATER, against)
    return Care()
