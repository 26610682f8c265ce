"""What retries buy: the share of chains that recovered, week by week, and the chains of each day behind it."""

from __future__ import annotations

import plotly.graph_objects as go

from analyzer.analysis.charts.finding.panels import (
    bars,
    onset_line,
    panels,
    share_band,
    share_line,
    shares_axis,
)
from analyzer.analysis.summary.cases import Case

_RECOVERED, _FAILED, _UNTRIED = ("#009e73", ""), ("#d55e00", "x"), ("#9aa1ab", "-")


def recovery_chart(case: Case) -> go.Figure:
    """Recovered share of the chains of 7 days by the last of them; a bar is the chains of one day.

    The band is what is expected of the share where it fell, else what 49 days say of it.
    """
    one, rows = case.finding, list(case.numbers.iter_rows(named=True))
    days = [row["day"] for row in rows]
    shown = [*days, one.onset]
    figure = go.Figure()
    latest = one.latest
    fell = one.finding == "recovery_fell"
    middle, name = (latest.expected, "expected share") if fell else (latest.observed, "share over all 49 days")
    share_band(figure, latest, shown, middle, name)
    shares = [row["recovered_share"] for row in rows]
    of = [(row["week_recovered"], row["week_chains"]) for row in rows]
    figure.add_trace(share_line(days, shares, of, "recovered share of 7 days", "chains of 7 days recovered"))
    for name, values, style in (
        ("chains that recovered", [row["recovered"] for row in rows], _RECOVERED),
        ("chains that did not", [row["chains"] - row["recovered"] for row in rows], _FAILED),
        ("errors without a retry", [row["untried"] for row in rows], _UNTRIED),
    ):
        if any(values):
            figure.add_trace(bars(days, values, name, style, "y2"))
    onset_line(figure, one.onset, shown, "found")
    title = "Share of retry chains that recovered, over 7 days, and the chains of each day"
    highest = max([share for share in shares if share is not None] + [latest.high or 0.0], default=0.0)
    panels(figure, title, "", shown, shares_axis("share (%)", highest), "chains")
    return figure
