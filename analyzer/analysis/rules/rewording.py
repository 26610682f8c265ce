"""`Wording`: an old and a new text of what is one error to people, with the draft of a rule for the new one."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from analyzer.analysis.rules.drafts import RuleDraft
from analyzer.analysis.rules.unknowns import drafted
from analyzer.analysis.window import Window
from analyzer.classifier import Rules
from analyzer.store import Judging


@dataclass(frozen=True, slots=True)
class Wording:
    """A rule that fell silent, and the text that came instead."""

    rule: str
    reason: str
    old: str | None
    """What the rule matched most, redacted and capped; None where no event tells any more."""
    new: str | None
    """The text that no rule knows, likewise."""
    draft: dict[str, Any] | None = None
    """The draft of a rule for the new text, as `analyzer unknowns --suggest` gives it; None where none can be made."""

    @property
    def pattern(self) -> str | None:
        """What the draft matches."""
        texts = self.draft["rule"]["text"] if self.draft else []
        return str(texts[0]) if texts else None

    def to_dict(self) -> dict[str, Any]:
        """JSON-ready."""
        return {name: getattr(self, name) for name in Wording.__slots__}


def draft_instead(
    store: Judging, window: Window, fingerprint: str, rule: str, reason: str, rules: Rules = None
) -> RuleDraft | None:
    """The draft of a rule for a text that came instead of what another rule matched, with the reason of that one.

    `fingerprint` is that of the text, `window` has it among its unknown errors; None where no draft can be made.

    Raises:
        AnalyzerError: rules that cannot be used, a store that cannot be asked.
    """
    made = drafted(store, window, fingerprint, rules, reason)
    if made is None:
        return None
    said = f"rule {rule} ({reason}) fell silent as it came, at the same callers"
    return replace(made, evidence=(said, *made.evidence))
