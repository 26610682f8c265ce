"""What was delivered of a night, and where to: decisions in the journal, so that the same night tells what is left.

Invariant: a delivery is written down once it was made. Who dies between the two makes it again.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

from analyzer.analysis.kinds.cost import SEVERITIES
from analyzer.analysis.kinds.finding import Finding
from analyzer.analysis.nightly.night import Night
from analyzer.store import Judging


@dataclass(frozen=True, slots=True)
class Undelivered:
    """A night, and what each target knows of it."""

    night: Night
    known: frozenset[tuple[str, str, str, str]]
    """Finding, state, severity and target of each delivery."""

    @classmethod
    def of(cls, store: Judging, night: Night) -> Undelivered:
        """What a store knows of the deliveries of a night.

        Raises:
            QueryError: the store cannot be asked.
        """
        rows = store.query("detection-delivered", span=night.span, timezone=night.timezone)
        columns = rows.select("finding_id", "state", "severity", "target")
        return cls(night, frozenset(columns.iter_rows()))

    def to(self, target: str) -> Night:
        """The night without the findings that a target knows in this state, as grave as they are or graver."""
        return replace(self.night, findings=tuple(one for one in self.night.findings if not self._knows(target, one)))

    def write_down(self, store: Judging, made: Iterable[tuple[str, Finding]]) -> None:
        """Write down which targets were told of which findings.

        Raises:
            StoreError: the store or its journal cannot be written.
        """
        night = {"span": self.night.span, "timezone": self.night.timezone}
        told = [
            {"finding_id": one.id, "state": _state(one), "severity": one.severity, "target": target}
            for target, one in made
        ]
        if told:
            store.decide(("finding.delivered", {**payload, **night}) for payload in told)

    def _knows(self, target: str, found: Finding) -> bool:
        as_grave = SEVERITIES[SEVERITIES.index(found.severity) :]
        return any((found.id, _state(found), severity, target) in self.known for severity in as_grave)


def _state(found: Finding) -> str:
    return "worse" if found.worse else found.state
