"""What one caller does about each reason: the recovery table, with what a caller may set.

Invariant: the recovery table of the classifier decides which reasons are tried again; a policy only bounds and hushes.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType

from analyzer.classifier.recovery_table import REASONS, RECOVERY
from analyzer.errors import AnalyzerError
from analyzer.recovery.retry.backoff import Backoff

_CALLS_WITH_HELP = {"tool_not_found": 2}
"""Calls in all, where the table allows one but the caller can mend the cause in between."""


@dataclass(frozen=True, slots=True)
class Policy:
    """The settings of a retry loop. The defaults are the recovery table."""

    backoff: Backoff = field(default_factory=Backoff)
    max_attempts: Mapping[str, int] = field(default_factory=dict)
    """Calls in all by reason, the first included, where they are to differ from the table's."""
    max_wait_seconds: float = 3600.0
    """A limit that holds longer than this is told to a person instead of being waited for."""
    wait_when_blocked: bool = False
    """Before the first call, when the guard already says no: wait until it says yes, instead of refusing at once."""
    silent: bool = False
    """Classify and log, but neither try again nor raise: for calls that nobody would miss."""

    def __post_init__(self) -> None:
        for reason, calls in self.max_attempts.items():
            if reason not in RECOVERY:
                raise AnalyzerError.unknown_value("reason", reason, REASONS)
            if calls < 1:
                raise AnalyzerError(f"{reason} cannot have {calls} attempts", "The first call counts: give 1 or more.")
            if calls > 1 and not RECOVERY[reason].retryable and reason not in _CALLS_WITH_HELP:
                raise AnalyzerError(
                    f"{reason} is not tried again", "A retry fails the same way; see the recovery table."
                )

    def attempts_for(self, reason: str, *, helped: bool = False, most: int | None = None) -> int:
        """Failures with this reason that end a chain.

        `helped` says that the caller mends the cause in between; `most` bounds what the table allows, though not what
        the caller set.
        """
        standard = max(_CALLS_WITH_HELP.get(reason, 1) if helped else 1, RECOVERY[reason].max_attempts)
        return self.max_attempts.get(reason, standard if most is None else min(standard, most))


PROFILES: Mapping[str, Policy] = MappingProxyType(
    {
        "pre_spawn": Policy(),
        "probe": Policy(wait_when_blocked=True),
        "fetch": Policy(wait_when_blocked=True),
        "silent": Policy(silent=True),
        "transport": Policy(),
    }
)
"""Policies of typical callers. `pre_spawn`: a gate before an agent is started; refuses at once while a limit holds.
`probe`: a live call that asks whether a connection works; `fetch`: a feed; both wait for a limit. `silent`: an update
check. `transport`: tool calls; give it `reprobe`, so that a missing tool is looked for again and called once more."""
