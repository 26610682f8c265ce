"""A second, plain count of the page's tables: each is a grouping of the events, by title; a chart shows its table.

`TABLES` has what gives the rows of a title, by their key columns. A cell that nothing counts is unaccounted for.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Hashable, Iterable, Iterator
from dataclasses import dataclass
from datetime import date, datetime, timedelta

from tests.report.recount import SHARED, About, Event, Night, days_up_to, masked, share_of, usd_of

Cells = dict[str, object]
Rows = dict[tuple[str, ...], Cells]
PARTIES = {
    "rate_limited": "account",
    "auth_error": "account",
    "network_transient": "provider",
    "validation": "request",
    "tool_not_found": "environment",
    "unknown": "unknown",
}
OWN_SIDE = frozenset({"request", "environment", "unknown"})
"""Parties whose errors are a version's own."""
STATED = frozenset({"fingerprint", "p_value", "low_share", "high_share", "bytes", "cost_basis", "expected", "high"})
"""Columns that no plain count of events gives: ids, estimates of tests, and what a file weighs."""
NOTHING = "–"


def minute(at: datetime) -> str:
    """Return a moment as tables write it."""
    return f"{at:%Y-%m-%d %H:%M}"


def tokens_of(event: Event) -> int:
    """Return the tokens of a request."""
    return int(event.input_tokens + event.output_tokens)


def grouped(rows: Iterable[Event], *by: Callable[[Event], Hashable]) -> dict[tuple[str, ...], list[Event]]:
    """Group events by the texts that functions give of them."""
    groups: defaultdict[tuple[str, ...], list[Event]] = defaultdict(list)
    for row in rows:
        groups[tuple(str(each(row)) for each in by)].append(row)
    return groups


def sessions_of(rows: Iterable[Event]) -> set[str]:
    """Return the sessions of events."""
    return {row.session for row in rows}


def most(values: Iterable[str]) -> set[str]:
    """Return the values that are there most often: of equal ones any may be shown."""
    counts = Counter(values)
    return {value for value, count in counts.items() if count == max(counts.values())}


def field(name: str) -> Callable[[Event], str]:
    """Return what gives a field of an event."""
    return lambda event: getattr(event, name)


def _common(rows: list[Event], whole: list[Event]) -> Cells:
    """Return what many tables say of their rows."""
    callers = {row.caller for row in rows}
    return {
        "share": share_of(len(rows), len(whole)),
        "sessions": len(sessions_of(rows)),
        "callers": len(callers),
        "caller": next(iter(callers)) if len(callers) == 1 else {row.caller for row in rows if row.at == rows[-1].at},
        "providers": len({row.provider for row in rows}),
        "provider": most(row.provider for row in rows),
        "first_at": minute(min(row.at for row in rows)),
        "last_at": minute(max(row.at for row in rows)),
    }


def _errors(night: Night, *by: Callable[[Event], Hashable], of: list[Event] | None = None) -> Rows:
    """Return tables of errors."""
    errors = night.errors if of is None else of
    made: Rows = {}
    for key, rows in grouped(errors, *by).items():
        unknown = [row for row in rows if row.reason == "unknown"]
        ended = {row.operation for row in rows if row.operation}
        texts = {row.message for row in rows}
        made[key] = _common(rows, errors) | {
            "errors": len(rows),
            "events": len(rows),
            "reason": most(row.reason for row in rows),
            "top_reason": most(row.reason for row in rows),
            "party": PARTIES[rows[0].reason],
            "message": texts.pop() if len(texts) == 1 else masked(rows[0].message),
            "unknown_errors": len(unknown),
            "unknown_share": share_of(len(unknown), len(rows)),
            "recorded_share": share_of(len(unknown), len(rows)),
            "unknown_sessions": len(sessions_of(unknown)),
            "failed_sessions": len(night.failed(rows)),
            "uncounted_errors": 0,
            "retryable_errors": sum(bool(row.retryable) for row in rows),
            "operations": len(ended),
            "retried": len(ended),
            "recovered": sum(night.chains[name].outcome == "recovered" for name in ended),
        }
    return made


def _outcome(night: Night) -> Callable[[Event], str]:
    return lambda error: night.chains[error.operation].outcome if error.operation else error.outcome


def _blame(night: Night) -> Rows:
    """Return what the errors of a day at a provider had for company."""
    work = grouped(night.events, field("day"), field("provider"))
    callers = {key: grouped(rows, field("caller")) for key, rows in work.items()}
    errors = grouped(night.errors, field("day"), field("provider"), lambda error: PARTIES[error.reason])
    made: Rows = {}
    for (day, provider, party), rows in errors.items():
        own, hit = callers[day, provider], grouped(rows, field("caller"))
        others = [key for key in work if key[0] == day and key[1] != provider]
        failed = [errors[*key, party] for key in others if (*key, party) in errors]
        made[day, provider, party] = _common(rows, night.errors) | {
            "reason": most(row.reason for row in rows),
            "errors": len(rows),
            "failed_sessions": len(sessions_of(rows)),
            "sessions": len(sessions_of(work[day, provider])),
            "callers": len(own),
            "failed_callers": sum(
                len(sessions_of(hit[name])) >= 0.25 * len(sessions_of(own[name])) for name in own if name in hit
            ),
            "other_failed_sessions": sum(len(sessions_of(each)) for each in failed),
            "other_sessions": sum(len(sessions_of(work[key])) for key in others),
            "party": {party, "provider", "request"},
        }
    return made


def _versions(night: Night) -> Rows:
    made: Rows = {}
    for key, rows in grouped(night.events, field("agent"), field("agent_version")).items():
        errors = [row for row in rows if row.kind == "error.classified" and PARTIES[row.reason] in OWN_SIDE]
        begins = [night.starts[name] for name in sessions_of(rows)]
        calls, failed = _calls(rows), [row for row in rows if row.kind == "tool.failed"]
        made[key] = {
            "first_at": minute(min(begins)),
            "last_at": minute(max(begins)),
            "sessions": len(begins),
            "failed_sessions": len(sessions_of(errors)),
            "failed_share": share_of(len(sessions_of(errors)), len(begins)),
            "tool_calls": calls,
            "tool_failures": len(failed),
            "tool_failure_share": share_of(len(failed), calls),
        }
    return made


def _calls(rows: Iterable[Event]) -> int:
    """Return how many calls of tools sessions say that they made."""
    return sum(sum(row.tools.values()) for row in rows if row.kind == "session.observed")


def _chains(night: Night, *by: Callable[[Event], Hashable]) -> Rows:
    made: Rows = {}
    chains = list(night.chains.values())
    for key, rows in grouped(chains, *by).items():
        ends = Counter(row.outcome for row in rows)
        ended = sum(ends[name] for name in ("recovered", "exhausted", "surfaced", "escalated"))
        made[key] = {
            "chains": len(rows),
            "ended": ended,
            **{name: ends[name] for name in ("recovered", "exhausted", "surfaced", "escalated", "aborted")},
            "unresolved": 0,
            "recovery_share": share_of(ends["recovered"], ended),
            "attempts": sum(row.attempts for row in rows),
            "waited_seconds": seconds(sum(row.waited_seconds for row in rows)),
            "wasted_seconds": seconds(sum(row.waited_seconds for row in rows if row.outcome != "recovered")),
        }
    return made


def seconds(number: float) -> str:
    """Return a length of time as tables write it."""
    return f"{number:.0f}" if number >= 1_000 else f"{number:.1f}"


def _relays(night: Night, *by: Callable[[Event], Hashable]) -> Rows:
    ends = {e.relay: e.kind.removeprefix("relay.") for e in night.events if e.kind in {"relay.resumed", "relay.halted"}}
    relays = [event for event in night.events if event.kind == "relay.triggered"]
    requests = {event.session: event.requests for event in night.events if event.kind == "session.observed"}
    made: Rows = {}
    for key, rows in grouped(relays, *by).items():
        often = Counter(row.session for row in rows)
        made[key] = _common(rows, relays) | {
            "occurred_at": minute(rows[0].at),
            "step_id": rows[0].step_id,
            "trigger": rows[0].trigger,
            "outcome": ends[rows[0].relay],
            "token_usage_percent": f"{rows[0].token_usage_percent:.1f}%",
            "relays": len(rows),
            "compactions": sum(row.step_id is None for row in rows),
            "auto_relays": sum(row.trigger == "auto" for row in rows),
            "manual_relays": sum(row.trigger == "manual" for row in rows),
            "halted": sum(ends[row.relay] == "halted" for row in rows),
            "relays_per_session": f"{len(rows) / len(often):.1f}",
            "most_in_one_session": max(often.values()),
            "mean_pre_tokens": sum(row.pre_tokens for row in rows) // len(rows),
            "pre_tokens": sum(row.pre_tokens for row in rows),
            "requests": requests[rows[0].session],
        }
    return made


def requests_of(night: Night) -> list[Event]:
    """Return the requests to models."""
    return [event for event in night.events if event.kind == "usage.recorded"]


def _requests(night: Night, *by: Callable[[Event], Hashable]) -> Rows:
    made: Rows = {}
    for key, rows in grouped(requests_of(night), *by).items():
        made[key] = _common(rows, rows) | {
            "cost_usd": f"{sum(map(usd_of, rows)):.2f}",
            "requests": len(rows),
            "input_tokens": sum(row.input_tokens for row in rows),
            "output_tokens": sum(row.output_tokens for row in rows),
            "cache_read_tokens": 0,
            "cache_write_tokens": 0,
            "tokens": sum(map(tokens_of, rows)),
        }
    return made


def unfinished(night: Night) -> dict[str, tuple[str, str, Event]]:
    """Return how and with what the sessions ended that stopped after a failure, and their last request."""
    last = {event.session: event for event in night.events if event.kind != "session.observed"}
    newest = max(event.at for event in night.events)
    requests = {event.session: event for event in requests_of(night)}
    ends: dict[str, tuple[str, str, Event]] = {}
    for session in night.unanswered:
        end = last[session]
        if end.at <= newest - timedelta(hours=1):
            kind, detail = ("after_tool", "not_found") if end.kind == "tool.failed" else ("after_error", end.reason)
            ends[session] = kind, detail, requests[session]
    return ends


def _failure_cost(night: Night) -> Rows:
    groups: defaultdict[tuple[str, ...], list[Event]] = defaultdict(list)
    for ending, _, request in unfinished(night).values():
        groups["unfinished", "measured", ending, NOTHING, request.caller, request.project].append(request)
    return {
        key: _common(rows, rows)
        | {"requests": len(rows), "tokens": sum(map(tokens_of, rows)), "cost_usd": f"{sum(map(usd_of, rows)):.2f}"}
        for key, rows in groups.items()
    }


def _endings(night: Night) -> Rows:
    groups: defaultdict[tuple[str, ...], list[str]] = defaultdict(list)
    ends = unfinished(night)
    for session, (ending, _, _) in ends.items():
        groups[(ending,)].append(session)
    lasts = {event.session: event.at for event in night.events}
    usage = grouped(requests_of(night), field("session"))
    made: Rows = {}
    for key, names in groups.items():
        rows = [request for name in names for request in usage[(name,)]]
        made[key] = {
            "sessions": len(names),
            "share": share_of(len(names), len(lasts)),
            "top_detail": most(ends[name][1] for name in names),
            "tokens": sum(map(tokens_of, rows)),
            "cost_usd": f"{sum(map(usd_of, rows)):.2f}",
            "last_at": minute(max(lasts[name] for name in names)),
        }
    return made


def _ended_sessions(night: Night) -> Rows:
    lasts = {event.session: event for event in night.events}
    usage = grouped(requests_of(night), field("session"))
    return {
        (session,): {
            "ended_at": minute(lasts[session].at),
            "ending": ending,
            "detail": detail,
            "caller": lasts[session].caller,
            "agent": lasts[session].agent,
            "agent_version": lasts[session].agent_version,
            "project": lasts[session].project,
            "model": lasts[session].model,
            "attempts": NOTHING,
            "grown_compactions": 0,
            "tokens": sum(map(tokens_of, usage[(session,)])),
            "cost_usd": f"{sum(map(usd_of, usage[(session,)])):.2f}",
        }
        for session, (ending, detail, _) in unfinished(night).items()
    }


def _tools(night: Night, *by: Callable[[Event], Hashable]) -> Rows:
    failed = [event for event in night.events if event.kind == "tool.failed"]
    calls = _calls(night.events)
    made: Rows = {}
    for key, rows in grouped(failed, *by).items():
        made[key] = _common(rows, failed) | {
            "failures": len(rows),
            "calls": calls,
            "failure_share": share_of(len(rows), calls),
            "tools": len({row.tool for row in rows}),
            "kind": rows[0].line["payload"]["kind"],
            "top_kind": most(row.line["payload"]["kind"] for row in rows),
            "top_tool": most(row.tool for row in rows),
            "message": most(row.message for row in rows),
            "message_failures": Counter(row.message for row in rows).most_common(1)[0][1],
            "command": NOTHING,
            "failed_seconds": NOTHING,
        }
    return made


def _tools_by_day(night: Night) -> Rows:
    made: Rows = {}
    for key, rows in grouped(night.events, field("day")).items():
        failed = [row for row in rows if row.kind == "tool.failed"]
        made[key] = {"failures": len(failed), "sessions": len(sessions_of(failed)), "calls": _calls(rows)}
    return made


def _sources(night: Night) -> Rows:
    count = len(night.events)
    zero = dict.fromkeys(("duplicates", "quarantined", "blank", "skipped", "pending_bytes"), 0)
    row: Cells = {"source_format": "analyzer", "status": "read", "lines": count, "event_lines": count, "events": count}
    return {("events.jsonl",): row | zero | {"read_share": "100.0%"}}


def _by_reason(error: Event) -> str:
    return str(error.reason)


TABLES: dict[str, tuple[tuple[str, ...], Callable[[Night], Rows]]] = {
    "Errors by day and reason": (("day", "reason"), lambda n: _errors(n, field("day"), _by_reason)),
    "What failed most": (("reason", "message"), lambda n: _shown(_errors(n, _by_reason, lambda e: masked(e.message)))),
    "Errors by reason": (("reason",), lambda n: _errors(n, _by_reason)),
    "Errors by who caused them": (("party",), lambda n: _errors(n, lambda e: PARTIES[e.reason])),
    "Likely cause, compared with other callers and providers": (("day", "provider", "named_party"), _blame),
    "Errors by caller": (("caller",), lambda n: _errors(n, field("caller"))),
    "Versions of agents": (("agent", "agent_version"), _versions),
    "Errors by reason, caller and outcome": (
        ("reason", "caller", "outcome"),
        lambda n: _errors(n, _by_reason, field("caller"), _outcome(n)),
    ),
    "Unknown share by day and caller": (("day", "caller"), lambda n: _errors(n, field("day"), field("caller"))),
    "Top unknown messages": (
        ("message",),
        lambda n: _shown(_errors(n, lambda e: masked(e.message), of=[e for e in n.errors if e.reason == "unknown"])),
    ),
    "Unknown share by day, as recorded and under the rules in force": (
        ("day",),
        lambda n: _errors(n, field("day")),
    ),
    "Retry outcomes by reason": (("reason",), lambda n: _chains(n, _by_reason)),
    "Retry pay-off by reason and caller": (("reason", "caller"), lambda n: _chains(n, _by_reason, field("caller"))),
    "Hand-offs and compactions by day": (("day",), lambda n: _relays(n, field("day"))),
    "Hand-offs and compactions by step": (
        ("caller", "step_id"),
        lambda n: _relays(n, field("caller"), field("step_id")),
    ),
    "Hand-offs and compactions by session": (("session_id",), lambda n: _relays(n, field("session"))),
    "How full the context was at hand-off": (("session_id",), lambda n: _relays(n, field("session"))),
    "What requests cost": (
        ("agent", "project", "model"),
        lambda n: _requests(n, field("agent"), field("project"), field("model")),
    ),
    "What requests cost by day": (("day",), lambda n: _requests(n, field("day"))),
    "What failures cost": (("cause", "basis", "reason", "never_recovered", "caller", "project"), _failure_cost),
    "Sessions that stopped without an end": (("ending",), _endings),
    "Sessions that stopped in the middle": (("session_id",), _ended_sessions),
    "Failed tools by tool": (("tool",), lambda n: _tools(n, field("tool"))),
    "Failed tools by kind": (("kind",), lambda n: _tools(n, lambda e: e.line["payload"]["kind"])),
    "Failed tools by agent and project": (("agent", "project"), lambda n: _tools(n, field("agent"), field("project"))),
    "What failed tools say": (("tool", "message"), lambda n: _tools(n, field("tool"), field("message"))),
    "Failed tools by day": (("day",), _tools_by_day),
    "Completeness by source": (("source_path",), _sources),
}
"""Titles → the columns that name a row, and what counts all rows again."""


def _shown(rows: Rows) -> Rows:
    """Return rows under the text that a table shows of their messages, which has values where all have the same."""
    return {(*key[:-1], str(cells["message"])): cells for key, cells in rows.items()}


def wrong_cells(
    title: str, header: list[str], body: list[list[str]], expected: Rows, keys: Iterable[str]
) -> Iterator[str]:
    """Say which cells of a table are otherwise than they are counted, and which rows it should not have."""
    names = tuple(keys)
    for texts in body:
        cells = dict(zip(header, texts, strict=True))
        key = tuple(cells.get(name, NOTHING) for name in names)
        if key not in expected:
            yield f"table {title!r}: a row {key} that the events do not have"
            continue
        for name, text in cells.items():
            if name in names or name in STATED or text == NOTHING:
                continue
            known = expected[key].get(name)
            right = known if isinstance(known, set) else {known}
            if known is None or text.replace(",", "") not in {str(each) for each in right}:
                yield f"table {title!r}: {name} of {key} is {text}, recounted {known}"


def missing_rows(
    title: str, header: list[str], body: list[list[str]], expected: Rows, keys: Iterable[str]
) -> Iterator[str]:
    """Say which rows a whole table lacks."""
    places = [header.index(name) for name in keys if name in header]
    known = {tuple(row[place] for place in places) for row in body}
    for key in expected:
        own = tuple(value for value, name in zip(key, keys, strict=True) if name in header)
        if own not in known:
            yield f"table {title!r}: no row {own}"


@dataclass(frozen=True)
class FindingTables:
    """The tables that stand with a finding."""

    about: About

    def rows(self, title: str, first: date, last: date) -> tuple[tuple[str, ...], Rows] | None:
        """Return the key columns and the rows of a table that is of these days; None for one that nothing counts."""
        about, night = self.about, self.about.night
        inside = [error for error in about.errors if first <= error.day <= last]
        if title == "Messages":
            return ("message",), _shown(_errors(night, lambda e: masked(e.message), of=inside))
        if title == "Sessions" and about.scope["step"]:
            return ("session",), self._hand_offs(first, last)
        if title == "Sessions":
            made = _errors(night, field("session"), of=inside)
            for (session,), cells in made.items():
                own = [error for error in inside if error.session == session]
                cells |= {"day": own[0].day, "agent": own[0].agent, "project": own[0].project}
            return ("session",), made
        if title == "The burst":
            return ("begins_at",), self._burst()
        if title.startswith("Days of"):
            return ("day",), {(str(day),): self._day(day) for day in days_up_to(last, (last - first).days + 1)}
        return None

    def _hand_offs(self, first: date, last: date) -> Rows:
        relays = [event for day in days_up_to(last, (last - first).days + 1) for event in self.about.relays(day)]
        made: Rows = {}
        for key, rows in grouped(relays, field("session")).items():
            days = {"day": min(row.day for row in rows), "events": len(rows)}
            made[key] = days | {"agent": rows[0].agent, "project": rows[0].project}
        return made

    def _burst(self) -> Rows:
        """Return the repeats of the session in equal stretches, the shortest that are sixty at most."""
        moments = [e.at for e in self.about.errors if e.session == self.about.scope["session"]]
        length = (max(moments) - min(moments)).total_seconds() + 1
        width = next(each for each in (1, 5, 15, 60, 300, 900, 3_600) if length <= each * 59)
        counts = Counter(at - timedelta(seconds=(at.minute * 60 + at.second) % width) for at in moments)
        return {(f"{at}",): {"seconds": width, "repeats": count} for at, count in counts.items()}

    def _day(self, day: date) -> Cells:
        about, night = self.about, self.about.night
        own = about.on(day)
        every = [e for e in night.errors if e.day == day and e.caller in about.callers]
        groups = {(e.session, masked(e.message)) for e in own}
        whole = {(e.session, masked(e.message)) for e in every}
        relays = about.relays(day)
        kind = about.finding["finding"]
        at_work = night.sessions(about.callers, [day])
        if kind == "relays":
            at_work = sessions_of(every) | sessions_of(
                e for e in night.events if e.day == day and e.kind == "relay.triggered" and e.caller in about.callers
            )
        of_errors = kind in {"spike", "drift", "template", "shared_template", "weak_template"}
        return {
            "errors": len(groups),
            "sessions": len(sessions_of(every)) if of_errors else len(at_work),
            "unknown_groups": len(groups),
            "groups": len(whole),
            "unknown_share": share_of(len(groups), len(whole)),
            "unknown_sessions": len(sessions_of(own)),
            "message_sessions": len(sessions_of(own)),
            "message_events": len(own),
            "hand_offs": len(relays),
            "relay_sessions": len(sessions_of(relays)),
            "unusual": {"yes", "no"},
            "fleet_sessions": len(sessions_of(e for e in night.events if e.day == day)),
            **self._signal(day, at_work),
        }

    def _signal(self, day: date, at_work: set[str]) -> Cells:
        about, night = self.about, self.about.night
        kind, names = about.finding["finding"], [name for name in ("caller", *SHARED) if about.scope[name]]
        events = [e for e in night.events if e.day == day and all(getattr(e, n) == about.scope[n] for n in names)]
        chains = [event for event in events if event.kind == "retry.settled"]
        if kind == "retries_exhausted":
            return {"amount": sum(e.outcome == "exhausted" for e in chains), "number": len(chains)}
        if kind == "waits_grow":
            waits = (int(event.waited_seconds).bit_length() for event in chains)
            return {"amount": sum(1 << max(0, bits - 1) for bits in waits), "number": len(chains)}
        if kind == "tool_failures":
            failed = Counter(e.session for e in events if about.failed_tool(e))
            used = {e.session for e in events if about.scope["tool"] in (e.tools or {})}
            return {"amount": sum(min(3, count) for count in failed.values()), "number": len(used | set(failed))}
        if kind == "sessions_unanswered":
            return {"amount": len(at_work & night.unanswered), "number": len(at_work)}
        return {}
