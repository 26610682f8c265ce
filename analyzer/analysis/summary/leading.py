"""The sentences that a report opens with: what failed most, its cost, whose fault it was, and the change in a week.

Invariants: each rests on one table of the report, which its `query` names; a sentence without
anything to say is left out. The party that is blamed is that of `errors-blame`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from analyzer.analysis.kinds.sentences import LEAST_USD
from analyzer.analysis.kinds.statistics.tails import chance_of_shares
from analyzer.analysis.nightly.night import Night
from analyzer.analysis.summary.day_figures import LatestDay, night_window
from analyzer.analysis.tables import Table, table
from analyzer.classifier.recovery_table import RECOVERY, advice
from analyzer.frozen import frozen
from analyzer.readable import counted, gist, part_of, percent
from analyzer.store import Store

LEADING_TABLES = (
    "errors-messages",
    "errors-by-party",
    "errors-blame",
    "tools-messages",
    "cost-of-failure",
    "cost-by-model",
)
"""The queries whose answers the sentences cannot do without; `versions-by-agent` is for windows with a history."""
_MOST_PARTIES = 4
_LEAST_SESSIONS = 10
"""Sessions of each week, of each version, or at other providers, below which a comparison with them says nothing."""
_LEAST_CALLERS = 3
"""Callers at a provider below which nobody can say whether an error is one caller's own."""
_RARE = 0.01
"""The chance, over all agents of a report, at which a version is called worse."""


@frozen
class Leading:
    """One of the opening sentences."""

    topic: str
    """`most` for what failed most, `cost` for what failures cost, `whose` for who can mend it, `blame` for
    the likely cause at one provider, `version` for one that
    does worse than before, `change` for the week before."""
    text: str
    """In our own words; what an error said is in `quote`."""
    query: str
    """The catalogue query that it rests on."""
    quote: str = ""
    """The gist of what the errors in question say; text from a log."""
    advice: str = ""
    """What to do about it."""


def leading(tables: Mapping[str, Table], sessions: int, latest: LatestDay | None) -> tuple[Leading, ...]:
    """Return the opening sentences about the tables of a report on so many sessions."""
    made = (
        _most(tables["errors-messages"], sessions) or _most_of_tools(tables["tools-messages"]),
        failure_cost(tables["cost-of-failure"]) or whole_cost(tables["cost-by-model"]),
        _whose(tables["errors-by-party"]),
        _blamed(tables["errors-blame"]),
        _version(tables.get("versions-by-agent")),
        _change(latest),
    )
    return tuple(sentence for sentence in made if sentence is not None)


def leading_of_night(store: Store, night: Night) -> tuple[Leading, ...]:
    """Return the opening sentences about the day or the hours that a night judged.

    Raises:
        QueryError: the store cannot be asked.
    """
    chosen = night_window(night)
    tables = {name: table(store, name, chosen) for name in LEADING_TABLES}
    return leading(tables, table(store, "overview-totals", chosen).frame["sessions"][0], None)


def _most(messages: Table, sessions: int) -> Leading | None:
    """Say what left most sessions without what they asked for; what a user stopped is no failure."""
    rows = [row for row in messages.frame.iter_rows(named=True) if row["party"] != "user"]
    if not rows:
        return None
    row = rows[0]
    reason = row["reason"] if row["reason"] in RECOVERY else "unknown"
    of = f"{row['sessions']:,} of {counted(sessions, 'session')}" if row["sessions"] else "no named session"
    text = f"Most failures: one {reason} message, {counted(row['errors'], 'time')} in {of}"
    if row["failed_sessions"]:
        failed = "all" if row["failed_sessions"] == row["sessions"] else f"{row['failed_sessions']:,}"
        text += f"; {failed} failed"
    return Leading("most", f"{text}.", messages.query, gist(row["message"]), advice(reason, row["detail"]))


_MEND = {
    "exit_code": "The command itself failed: what it printed says why.",
    "not_found": "What was asked for is not there: say in the agent's instructions where it is.",
    "edit_mismatch": "The text to replace was not there: have the agent read a file again before it edits it.",
    "timeout": "It ran into its time limit: raise that, or have the agent run it in the background.",
    "permission": "The agent may not do that: allow it in its settings, or tell the agent not to.",
    "environment": "This machine lacks what it needs: install it, or make room or a connection.",
    "tests": "Tests fail while an agent works; look only at what keeps failing.",
    "lint": "Linters fail while an agent works; look only at what keeps failing.",
    "build": "Builds fail while an agent works; look only at what keeps failing.",
    "other": "Its message says why.",
}
"""What to do about a failed tool of each kind; what somebody refused or stopped is no failure."""


def _most_of_tools(tools: Table) -> Leading | None:
    """Say which tool failed most, if there is no error."""
    row = next((row for row in tools.frame.iter_rows(named=True) if row["kind"] in _MEND), None)
    if row is None:
        return None
    ran = f" running {row['command']}" if row["command"] else ""
    often = f"{counted(row['failures'], 'time')} in {counted(row['sessions'], 'session')}"
    text = f"Most failures: the tool {row['tool']}{ran}, {often}."
    return Leading("most", text, tools.query, gist(row["message"] or ""), _MEND[row["kind"]])


_CAUSES = {
    "failed_request": "requests that failed with {}",
    "sent_again": "retries of {}",
    "tool_loop": "commands of {} that kept failing",
    "unfinished": "sessions that broke off",
    "compaction": "prompts read again after a compaction",
    "expired_cache": "prompts whose cache expired during the wait after {}",
}


def failure_usd(causes: Table, basis: str = "measured") -> float:
    """Sum up what the causes of a basis cost in US dollars."""
    return sum(row["cost_usd"] or 0 for row in causes.frame.rows(named=True) if row["basis"] == basis)


def failure_cost(causes: Table) -> Leading | None:
    """Say what failures cost, and on what most was spent.

    If nobody bills them or no model has a price, it says their tokens. Measured costs are a part of
    what all requests cost; what is estimated comes on top of that.
    """
    rows = causes.frame.rows(named=True)
    if not rows:
        return None
    measured, estimated = failure_usd(causes), failure_usd(causes, "estimated")
    paid = max(measured, estimated) >= LEAST_USD
    sums: dict[str, float] = {}
    for row in rows:
        if paid and row["basis"] == "estimated":
            continue
        what = _CAUSES[row["cause"]].format(row["reason"]) + (" that never recovered" if row["never_recovered"] else "")
        sums[what] = sums.get(what, 0) + (row["cost_usd" if paid else "tokens"] or 0)
    most = max(sums, key=lambda what: sums[what], default="")
    if paid:
        text = f"Failures wasted ${measured:,.2f} of ${rows[0]['of_cost_usd'] or 0:,.2f} spent"
        if measured >= LEAST_USD:
            text += ", all" if measured - sums[most] < LEAST_USD else f", ${sums[most]:,.2f} of it"
            text += f" in {most}"
        text += "."
        if estimated >= LEAST_USD:
            text += f" Calls that broke off and were sent again may have cost ${estimated:,.2f} more."
        return Leading("cost", text, causes.query)
    total = sum(sums.values())
    if not total:
        return None
    why = "their models have no price" if any(row["cost_usd"] is None for row in rows) else "they are not billed"
    text = f"Failures wasted {total:,.0f} tokens, {percent(sums[most] / total)} of them in {most}; {why}."
    return Leading("cost", text, causes.query)


def whole_usd(models: Table) -> float:
    """Sum up what all requests cost in US dollars, as far as they have a price."""
    return float(models.frame["cost_usd"].sum())


def whole_cost(models: Table) -> Leading | None:
    """Say what all requests cost, if none of them is known to have led nowhere."""
    usd = whole_usd(models)
    text = f"All requests cost ${usd:,.2f}; failures wasted none of it, as far as the logs show."
    return Leading("cost", text, models.query) if usd >= LEAST_USD else None


def _whose(parties: Table) -> Leading | None:
    rows = parties.frame.rows(named=True)
    if not rows:
        return None
    named = [f"{WHOSE.get(row['party'], 'unknown')} {percent(row['share'])}" for row in rows[:_MOST_PARTIES]]
    rest = sum(row["share"] for row in rows[_MOST_PARTIES:])
    more = f", others {percent(rest)}" if rest else ""
    return Leading("whose", f"Errors by cause: {', '.join(named)}{more}.", parties.query)


def _blamed(company: Table) -> Leading | None:
    """Say whose fault the errors at a provider are, if there is enough to compare them with."""
    for row in company.frame.iter_rows(named=True):
        is_enough = row["callers"] >= _LEAST_CALLERS or row["other_sessions"] >= _LEAST_SESSIONS
        if is_enough and row["provider"] != "(none)":
            sentence = blame(row)
            return Leading("blame", f"{sentence[:1].upper()}{sentence[1:]}.", company.query)
    return None


def _version(versions: Table | None) -> Leading | None:
    """Say which agent's newest version does worse than the one before it.

    Of several it is the one that is least likely by chance.
    """
    if versions is None:
        return None
    by_agent: dict[str, list[dict[str, Any]]] = {}
    for row in versions.frame.iter_rows(named=True):
        if row["sessions"] >= _LEAST_SESSIONS:
            by_agent.setdefault(row["agent"], []).append(row)
    newest = [rows[-2:] for rows in by_agent.values() if len(rows) > 1]
    worse = [pair for pair in newest if pair[1]["failed_share"] > pair[0]["failed_share"]]
    if not worse or min(map(_chance, worse)) * len(newest) > _RARE:
        return None
    before, after = min(worse, key=_chance)
    shares = [f"{percent(row['failed_share'])} of {row['sessions']:,}" for row in (before, after)]
    text = (
        f"Worse since {after['agent']} {after['agent_version']}, {after['first_at']:%Y-%m-%d}: {shares[1]} sessions met"
        f" errors that are not the provider's; {shares[0]} under {before['agent_version']}."
    )
    hint = "Go back to the earlier version, and compare the two."
    return Leading("version", text, versions.query, advice=hint)


def _chance(pair: Sequence[Mapping[str, Any]]) -> float:
    """Return the chance that two versions differ so much in their failed sessions."""
    before, after = pair
    return chance_of_shares(before["failed_sessions"], before["sessions"], after["failed_sessions"], after["sessions"])


def _change(latest: LatestDay | None) -> Leading | None:
    """Compare the sessions with errors of the last days with those of the same days a week before."""
    if latest is None:
        return None
    (met, met_before), (all_now, all_before) = latest.weeks("error_sessions"), latest.weeks("sessions")
    if not all_before or met_before is None or min(all_now, all_before) < _LEAST_SESSIONS:
        return None
    days = "day" if latest.compared == 1 else f"{latest.compared} days"
    now, before = met / all_now, met_before / all_before
    text = f"Sessions with errors in the last {days}: {percent(now)} of {all_now:,.0f}"
    return Leading("change", f"{text}; a week before {percent(before)} of {all_before:,.0f}.", latest.days.query)


WHOSE = {
    "provider": "the provider",
    "network": "the network",
    "account": "your account",
    "request": "your requests",
    "environment": "your machine",
    "user": "people who stopped it",
}
"""The likely cause of the errors of each party; of others it is `NOBODY`."""
NOBODY = "an unknown cause"


def blame(row: Mapping[str, Any]) -> str:
    """Say whose fault a row of `errors-blame` is, without a capital and a full stop."""
    first, last = row["first_at"], row["last_at"]
    span = "–".join(dict.fromkeys((f"{first:%H:%M}", f"{last:%H:%M}")))
    when = f"{span} UTC on {first:%Y-%m-%d}"
    at = "" if row["provider"] == "(none)" else f" at {row['provider']}"
    whose, sessions = WHOSE.get(row["party"], NOBODY), counted(row["sessions"], "session")
    text = f"likely {whose}: {row['failed_sessions']:,} of {sessions}{at} met {row['reason']} errors, {when}"
    if row["callers"] > 1 and row["failed_callers"]:
        text += f", in {part_of(row['failed_callers'], row['callers'], 'caller')}"
    if row["other_sessions"]:
        text += f"; {row['other_failed_sessions']:,} of {counted(row['other_sessions'], 'session')} elsewhere"
    return text
