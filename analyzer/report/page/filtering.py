"""What a finding is about, as attributes that the page's filters read."""

from __future__ import annotations

import html
import json

from analyzer.analysis import Case
from analyzer.report.escape import terminal_safe
from analyzer.report.svg.element import Svg


def filtered(case: Case) -> Svg:
    """The attributes: the names of caller, reason, agents and projects as JSON arrays."""
    scope, places = case.finding.scope, case.places
    names = {"caller": [scope.caller], "reason": [scope.reason]}
    for what in ("agent", "project"):
        names[what] = sorted(set(places[what].drop_nulls())) if places.height else []
    given = {what: [terminal_safe(name) for name in found if name] for what, found in names.items()}
    return Svg(" ".join(f'data-{what}="{html.escape(json.dumps(found))}"' for what, found in given.items()))
