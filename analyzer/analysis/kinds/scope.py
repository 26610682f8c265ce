"""What findings are about: the scope of one, and what the findings of one incident have in common."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date
from typing import NamedTuple

from analyzer.events.model import derived_id
from analyzer.readable import cut

SHARED_OF_ERRORS = ("provider", "model", "host", "project")
"""What callers share that their errors name."""
SHARED = (*SHARED_OF_ERRORS, "tool", "version", "swap")
"""What callers share that a finding may be about: each is a field of `Scope`."""
WHO_CHARS = 80
"""So much of a caller's name is shown."""


def who_of(caller: str) -> str:
    """Return the name of a caller for people: a long one is cut, an empty one is `(none)`."""
    name = caller if caller.strip() else "(none)"
    return cut(name, WHO_CHARS)


@dataclass(frozen=True, slots=True)
class Scope:
    """What a finding is about; None for what it does not single out."""

    caller: str | None = None
    reason: str | None = None
    template: str | None = None
    step: str | None = None
    session: str | None = None
    rule: str | None = None
    provider: str | None = None
    model: str | None = None
    tool: str | None = None
    version: str | None = None
    """An agent and its version."""
    project: str | None = None
    host: str | None = None
    swap: str | None = None
    """The model that was asked, the one that answered, and after what."""

    @property
    def who(self) -> str:
        """Name the caller for people: a long name is cut, and one without letters is `(none)`."""
        if self.caller is None:
            return next(filter(None, (getattr(self, name) for name in SHARED)), "the fleet")
        return who_of(self.caller)

    def to_dict(self) -> dict[str, str | None]:
        """Return a JSON-ready dict."""
        return {name: getattr(self, name) for name in Scope.__slots__}


class Identity(NamedTuple):
    """The family and scope that the detections of one incident have in common.

    A sudden and a slow rise of one share are one incident.
    """

    family: str
    scope: Scope


def finding_id(what: Identity, opened_on: date) -> str:
    """Derive the id from the identity and the first day."""
    # Names that came later have no part where they say nothing: ids of findings that are open stay as they are.
    scope = what.scope.to_dict()
    late = [scope.pop(name) for name in SHARED]
    named = (part for part in late if part is not None)
    return derived_id("finding", what.family, *scope.values(), *named, opened_on.isoformat())
