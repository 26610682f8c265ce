"""The kinds of what is done about errors: many hand-offs; retries that recover less, buy nothing, or are not made."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import polars as pl

from analyzer.analysis.charts.chart import GREEN, SILVER, VERMILION, Chart, Mark
from analyzer.analysis.detection.detection import BASELINE_DAYS, RECENT_DAYS
from analyzer.analysis.detection.signals.relays import MANY_RELAYS, relay_days
from analyzer.analysis.kinds.daily_charts import (
    DAY,
    MARKED,
    OTHER,
    SINCE_BASELINE,
    USUAL,
    band,
    bars,
    counts_axis,
    dashes,
    of_caller_around,
    panels,
    share_band,
    share_line,
    shares_axis,
)
from analyzer.analysis.kinds.finding import (
    Basis,
    Behind,
    Charted,
    ChartForm,
    Evidence,
    Finding,
    Kind,
    its_days,
    its_week,
)
from analyzer.analysis.kinds.finding_fields import info, warning
from analyzer.analysis.kinds.rises import BY_OUTCOME
from analyzer.analysis.kinds.sentences import as_number, expected, sessions
from analyzer.analysis.observations import exposed
from analyzer.readable import percent

NO_STEP = "(no step)"
"""The step of hand-offs whose log names none, in `detection-relays`."""


def _called(finding: Finding) -> str:
    return "compactions" if finding.finding == "compactions" else "hand-offs"


def many_hand_offs(finding: Finding) -> str:
    """Say that there were more hand-offs or compactions than expected, or many of one session."""
    latest = finding.latest
    step, what = finding.scope.step, _called(finding)
    step = f" in step {step}" if step and step != NO_STEP else ""
    if latest.expected is None:
        rest = f", {as_number(latest.statistic)} of them of one session" if latest.statistic != latest.observed else ""
        return f"{as_number(latest.observed)} {what}{'' if rest else ' of one session'}{step} on {latest.day}{rest}"
    text = f"{as_number(latest.observed)} {what}{step} on {latest.day}, {as_number(latest.expected)} expected"
    return f"{text} (at most {as_number(latest.high)}), in {sessions(finding)}"


def hand_off_rows(finding: Finding, basis: Basis) -> pl.DataFrame:
    """Return the rows of `HAND_OFFS`, a day each.

    `expected` and `high` are null where history is too short.
    """
    own, seen = pl.col("caller") == finding.scope.caller, basis.seen
    # Sessions that handed off in other steps were at work as well.
    at_work = exposed(replace(seen, relays=seen.relays.filter(own), counts=seen.counts.filter(own)))
    step = at_work.filter(pl.col("step") == (finding.scope.step or ""))
    return of_caller_around(relay_days(step), finding, basis.last).select(
        "day",
        pl.col("relays").alias("hand_offs"),
        "expected",
        "high",
        (pl.col("found") | (pl.col("expected").is_null() & (pl.col("most") >= MANY_RELAYS))).alias("unusual"),
        pl.col("sessions").alias("relay_sessions"),
        pl.col("exposure").cast(pl.Int64).alias("sessions"),
    )


def hand_off_chart(case: Charted) -> Chart:
    """Draw hand-offs or compactions by day, what was expected of the day, and its sessions.

    What was expected follows from the day's sessions and weekday.
    """
    rows, what = case.numbers, _called(case.finding)
    judged = rows.drop_nulls("expected")
    within = "what 39 of 40 such days stay within"
    marks = (
        band(within, judged["day"], [0.0] * judged.height, judged["high"], stepped=True),
        dashes("expected", judged["day"], judged["expected"], stepped=True),
        bars(rows.filter("unusual"), "hand_offs", f"{what}, unusual days", MARKED),
        bars(rows.filter(~pl.col("unusual")), "hand_offs", f"{what}, other days", OTHER),
        bars(rows, "sessions", "sessions at work", USUAL, lower=True),
    )
    title = f"{what.capitalize()} by day with what was expected, and the sessions at work"
    upper = counts_axis(what, max([*rows["hand_offs"], *rows["high"].drop_nulls()], default=0))
    note = "The first days have no history to expect from." if rows["high"].has_nulls() else ""
    return panels(case, title, marks, upper, "sessions", note=note)


HAND_OFFS = ChartForm(
    "Days of the caller and step",
    f"{SINCE_BASELINE} What is expected follows the sessions at work and the rates of weekdays and weekends.",
    {
        **DAY,
        "hand_offs": "hand-offs to a fresh context in the step",
        "expected": "hand-offs expected; none where there is too little history",
        "high": "the count that such a day stays within in 39 of 40 cases",
        "unusual": "whether the day alone would be a finding; such days are no part of what is expected of others",
        "relay_sessions": "distinct sessions with a hand-off in the step",
        "sessions": "distinct sessions at work: with an error or any hand-off",
    },
    hand_off_rows,
    hand_off_chart,
)


RELAYS = {
    "relays": Kind(
        title="Many hand-offs",
        metric="hand-offs of the day",
        severity=warning,
        sentence=many_hand_offs,
        advice="split steps that hand off often",
        asks=("query", "relays-by-step"),
        scope="step",
        evidence=Evidence({"hand_off": 0}),
        behind=Behind("of its days", lambda _finding, _seen: pl.lit(False), its_days, hand_offs="Hand-offs"),
        chart=HAND_OFFS,
    )
}
RELAYS["compactions"] = replace(
    RELAYS["relays"],
    title="Many compactions",
    metric="compactions of the day",
    advice="give its sessions less to read, or begin a new one for each task",
    scope=None,
    evidence=Evidence({"compaction": 0}),
    behind=replace(RELAYS["relays"].behind, hand_offs="Compactions"),
    chart=replace(
        HAND_OFFS,
        title="Days of the caller",
        columns={name: text.replace("hand-off", "compaction") for name, text in HAND_OFFS.columns.items()}
        | {"hand_offs": "compactions: the agent shortened its own context"},
    ),
)
"""An agent that shortens its own context goes on in the same session: it hands nothing off."""


_RECOVERED, _FAILED, _UNTRIED = (GREEN, ""), (VERMILION, "x"), (SILVER, "-")


def recovery_fell(finding: Finding) -> str:
    """Say that fewer retry chains recover than did."""
    latest = finding.latest
    text = f"{percent(latest.observed)} of {latest.groups or 0:,} retry chains for {finding.scope.reason} recovered"
    return f"{text} in the week up to {latest.day}, {expected(finding)}"


def retry_in_vain(finding: Finding) -> str:
    """Say that retries hardly ever recover."""
    latest = finding.latest
    text = f"retries for {finding.scope.reason} recovered {percent(latest.observed)} of {latest.groups or 0:,} chains"
    return f"{text} in the seven weeks up to {latest.day} (surely less than {percent(latest.high)})"


def retry_would_pay(finding: Finding) -> str:
    """Say that errors were given up although retries of their reason recover."""
    latest = finding.latest
    text = f"{latest.groups or 0:,} errors {finding.scope.reason} were not retried in the week up to {latest.day}"
    text += f", though {percent(latest.observed)} of those that were in the seven weeks up to it recovered"
    return f"{text} (surely more than {percent(latest.low)})"


def chain_rows(finding: Finding, basis: Basis) -> pl.DataFrame:
    """Return the rows of `RECOVERY`, a day each.

    `recovered_share` is null without a chain in the week up to that day.
    """
    daily = basis.seen.chains.filter(pl.col("reason") == finding.scope.reason).sort("day")
    own = daily.filter(pl.col("caller") == finding.scope.caller).select(
        "day", "caller", "chains", "recovered", "untried"
    )
    week = own.rolling("day", period=timedelta(days=RECENT_DAYS)).agg(
        pl.col("chains").sum().alias("week_chains"), pl.col("recovered").sum().alias("week_recovered")
    )
    share = pl.when(pl.col("week_chains") > 0).then(pl.col("week_recovered") / pl.col("week_chains"))
    rows = own.join(week, on="day", how="left").with_columns(share.alias("recovered_share"))
    return of_caller_around(rows, finding, basis.last).select(
        "day", "chains", "recovered", "untried", "week_chains", "week_recovered", "recovered_share"
    )


def chain_chart(case: Charted) -> Chart:
    """Draw the share of retry chains that recovered over a week, and the chains of each day.

    A week's share is drawn at its last day. The band is what is expected of the share if it fell,
    else what all days together say of it.
    """
    rows = case.numbers.with_columns(failed=pl.col("chains") - pl.col("recovered"))
    latest, week = case.finding.latest, f"{RECENT_DAYS} days"
    fell = latest.expected is not None
    share_name = "expected share" if fell else f"share over all {BASELINE_DAYS + RECENT_DAYS} days"
    shares = rows.select("day", "recovered_share", "week_recovered", "week_chains")
    marks: tuple[Mark, ...] = (
        *share_band(case, latest.expected if fell else latest.observed, share_name),
        share_line(shares, f"recovered share of {week}", f"chains of {week} recovered"),
        *(
            bars(rows, column, name, style, lower=True)
            for column, name, style in (
                ("recovered", "chains that recovered", _RECOVERED),
                ("failed", "chains that did not", _FAILED),
                ("untried", "errors without a retry", _UNTRIED),
            )
            if rows[column].sum()
        ),
    )
    title = f"Share of retry chains that recovered, over {week}, and the chains of each day"
    upper = shares_axis("share (%)", max([*rows["recovered_share"].drop_nulls(), latest.high or 0.0]))
    return panels(case, title, marks, upper, "chains", marked="found")


RECOVERY = ChartForm(
    "Days of the caller and reason",
    f"{SINCE_BASELINE} Days without a chain are left out. Chains that a person ended count nowhere.",
    {
        **DAY,
        "recovered_share": "week_recovered / week_chains, 0..1",
        "week_recovered": f"chains that recovered in the {RECENT_DAYS} days up to this one",
        "week_chains": f"chains with a retry in the {RECENT_DAYS} days up to this one",
        "recovered": "chains that recovered on this day",
        "chains": "chains with a retry that were settled on this day",
        "untried": "errors that were given up without a retry",
    },
    chain_rows,
    chain_chart,
)


_WEEKS = BASELINE_DAYS + RECENT_DAYS
_CHAINS = ("query", "retries-outcomes")
_RETRIES = Kind(
    title="Retries recover less",
    metric="share of retry chains that recovered, 0..1",
    severity=warning,
    sentence=recovery_fell,
    advice="wait longer between calls, or ask the provider",
    asks=_CHAINS,
    scope="reason",
    evidence=Evidence({"tried": RECENT_DAYS}),
    behind=Behind(
        "of the last week with its reason", lambda finding, _seen: pl.col("reason") == finding.scope.reason, its_week
    ),
    chart=RECOVERY,
)
RETRIES = {
    "recovery_fell": _RETRIES,
    "retry_in_vain": replace(
        _RETRIES,
        title="Retries buy nothing",
        severity=info,
        sentence=retry_in_vain,
        advice="stop retrying it: the waits buy nothing",
        evidence=Evidence({"tried": _WEEKS}),
    ),
    "retry_would_pay": replace(
        _RETRIES,
        title="Retries are not made that would pay",
        severity=info,
        sentence=retry_would_pay,
        advice="let it be retried; the recovery table allows it",
        asks=BY_OUTCOME,
        evidence=Evidence({"tried": _WEEKS, "untried": RECENT_DAYS}),
    ),
}
