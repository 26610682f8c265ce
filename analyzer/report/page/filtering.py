"""What a finding is about, as attributes that the page's filters read."""

from __future__ import annotations

import html
import json

from analyzer.analysis import Case
from analyzer.report.escape import terminal_safe
from analyzer.report.svg.element import Svg


def filtered(case: Case) -> Svg:
    """The attributes: the names of caller, reasons, agents and projects as JSON arrays."""
    one, scope, places = case.finding, case.finding.scope, case.places
    # A change of verdict is about both reasons; unknown errors are, whatever the finding calls them.
    reasons = dict.fromkeys([*(scope.reason or "").split(" → "), one.kind.evidence(one)])
    names = {"caller": [scope.caller], "reason": [*reasons]}
    for what in ("agent", "project"):
        names[what] = sorted(set(places[what].drop_nulls())) if places.height else []
    given = {what: [terminal_safe(name) for name in found if name] for what, found in names.items()}
    return Svg(" ".join(f'data-{what}="{html.escape(json.dumps(found))}"' for what, found in given.items()))
