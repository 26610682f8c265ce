"""A second, plain count of the sentences that nights and reports say of days and windows, beside those of findings."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from datetime import UTC, date, datetime, timedelta

from tests.report.recount import Event, Match, Night, Reader, days_up_to, differ, holds, masked, says, share_of, usd_of
from tests.report.recount_tables import (
    PARTIES,
    field,
    grouped,
    minute,
    requests_of,
    sessions_of,
    unfinished,
)


def duration(length: float) -> str:
    """Return a length of time in its two largest units, as sentences write it."""
    whole = round(length)
    if whole < 60:
        return f"{whole} s"
    for size, large, part, small in ((86_400, "d", 3_600, "h"), (3_600, "h", 60, "min"), (60, "min", 1, "s")):
        if whole >= size:
            return f"{whole // size} {large} {whole % size // part} {small}"
    return ""


_LENGTH = r"(?:COUNT (?:d|h|min) )?COUNT (?:h|min|s)"


def last_day(night: Night) -> date:
    """Return the last day with any event."""
    return max(event.day for event in night.events)


def end_of(night: Night, day: date) -> str:
    """Return the moment at which a day ends, in UTC."""
    end = datetime(day.year, day.month, day.day, tzinfo=night.zone) + timedelta(days=1)
    return minute(end.astimezone(UTC).replace(tzinfo=None))


@says(r"(?:All time: )?(?P<begin>DATE TIME) to (?P<end>DATE TIME) UTC(?:; days begin in (?P<zone>\w+/\w+))?")
def _window(reader: Reader, match: Match) -> Iterator[str]:
    night = reader.night
    yield from differ("the begin of the window", match["begin"], minute(min(event.at for event in night.events)))
    yield from differ("the end of the window", match["end"], end_of(night, last_day(night)))
    yield from differ("the zone", match["zone"] or "UTC", night.zone_name)


@says(r"Read (?P<read>COUNT) of (?P<lines>COUNT) lines? in (?P<files>COUNT) files?")
def _lines(reader: Reader, match: Match) -> Iterator[str]:
    for name in ("read", "lines"):
        yield from differ(f"the lines ({name})", match[name], len(reader.night.events))
    yield from differ("the files", match["files"], 1)


def _by_text(night: Night) -> dict[tuple[str, ...], list[Event]]:
    return grouped(night.errors, field("reason"), lambda error: masked(error.message))


@says(
    r"Most failures: one (?P<reason>NAME) message, (?P<times>COUNT) times? in (?P<met>COUNT) of (?P<seen>COUNT) "
    r"sessions?(?:; (?P<failed>COUNT|all) failed)?(?:: “(?P<quote>[^”]*)”)?"
)
def _failed_most(reader: Reader, match: Match) -> Iterator[str]:
    night = reader.night
    failed = {key: len(night.failed(rows)) for key, rows in _by_text(night).items()}
    best = {key for key, count in failed.items() if count == max(failed.values())}
    if match["quote"]:
        key: tuple[str, ...] = (match["reason"], masked(match["quote"]).replace("<<*>>", "<*>"))
        yield from holds("that no other message left more sessions without an answer", key in best)
    else:
        key = max(best, key=lambda each: (each[0] == match["reason"], len(_by_text(night)[each])))
    rows = _by_text(night).get(key, [])
    yield from differ("the number of times", match["times"], len(rows))
    yield from differ("the sessions", match["met"], len(sessions_of(rows)))
    yield from differ("all sessions", match["seen"], len(night.starts))
    shown = match["met"] if match["failed"] == "all" else match["failed"] or 0
    yield from differ("the sessions that gave up", shown, failed.get(key, 0))


@says(r"All requests cost \$(?P<usd>DECIMAL); failures wasted none of it, as far as the logs show")
def _all_cost(reader: Reader, match: Match) -> Iterator[str]:
    yield from differ("the cost", match["usd"], f"{sum(map(usd_of, requests_of(reader.night))):.2f}")
    yield from holds("that no failure cost any of it", not unfinished(reader.night))


@says(
    r"Failures wasted \$(?P<usd>DECIMAL) of \$(?P<whole>DECIMAL) spent"
    r"(?:, (?:all|\$(?P<most>DECIMAL) of it) in sessions that broke off)?"
)
def _failure_cost(reader: Reader, match: Match) -> Iterator[str]:
    usd = sum(usd_of(request) for _, _, request in unfinished(reader.night).values())
    yield from differ("the cost of failures", match["usd"], f"{usd:.2f}")
    yield from differ("the cost of all requests", match["whole"], f"{sum(map(usd_of, requests_of(reader.night))):.2f}")
    yield from differ("the most of it", match["most"] or match["usd"], f"{usd:.2f}")


@says(r"Errors by cause: (?P<parties>(?:[a-z ]+ SHARE(?:, )?)+)")
def _whose(reader: Reader, match: Match) -> Iterator[str]:
    counts = Counter(PARTIES[error.reason] for error in reader.night.errors)
    total, named = sum(counts.values()), 0
    for part in match["parties"].rstrip(", ").split(", "):
        party, _, share = part.rpartition(" ")
        party = _PARTIES.get(party, party)
        count = total - named if party == "others" else counts[party]
        named += count
        yield from differ(f"the share of {party}", share, share_of(count, total))


_WHOSE = {
    "Likely the provider": {"provider"},
    "Likely your account": {"account"},
    "Likely your requests": {"request", "unknown", "provider"},
    "Likely your machine": {"environment"},
    "Likely the network": {"network"},
    "Likely an unknown cause": {"unknown"},
}
_PARTIES = {
    "the provider": "provider",
    "the network": "network",
    "your account": "account",
    "your requests": "request",
    "your machine": "environment",
}


@says(
    r"(?P<whose>Likely [a-z ]+): (?P<met>COUNT) of (?P<seen>COUNT) sessions? at"
    r" (?P<provider>NAME) met (?P<reason>NAME) errors, (?P<first>TIME)(?:–(?P<last>TIME))? UTC on (?P<day>DATE)"
    r"(?:, in (?:all|(?P<hit>COUNT) of) (?P<callers>COUNT) callers?)?"
    r"(?:; (?P<other_met>COUNT) of (?P<others>COUNT) sessions? elsewhere)?"
)
def _blame(reader: Reader, match: Match) -> Iterator[str]:
    night, party = reader.night, PARTIES[match["reason"]]
    yield from holds("whose fault it is", party in _WHOSE[match["whose"]])
    problems = []
    for day in {error.day for error in night.errors}:
        rows = [e for e in night.errors if e.day == day and PARTIES[e.reason] == party]
        own = [error for error in rows if error.provider == match["provider"]]
        if own and f"{min(error.at for error in own):%Y-%m-%d}" == match["day"]:
            problems.append(list(_blame_of(night, day, rows, own, match)))
    yield from min(problems, key=len, default=["no such day"])


def _blame_of(night: Night, day: date, rows: list[Event], own: list[Event], match: Match) -> Iterator[str]:
    work = [event for event in night.events if event.day == day]
    there = sessions_of(event for event in work if event.provider == match["provider"])
    yield from differ("the sessions", match["met"], len(sessions_of(own)))
    yield from differ("all sessions", match["seen"], len(there))
    yield from differ("the first time", match["first"], f"{min(error.at for error in own):%H:%M}")
    yield from differ("the last time", match["last"] or match["first"], f"{max(error.at for error in own):%H:%M}")
    if match["others"]:
        yield from differ("other sessions", match["others"], len(sessions_of(work)) - len(there))
        yield from differ("others that met it", match["other_met"], len(sessions_of(rows)) - len(sessions_of(own)))
    if match["callers"]:
        callers = {event.caller for event in work if event.provider == match["provider"]}
        hit = {caller for caller in callers if _is_hit(caller, work, own)}
        yield from differ("the callers", match["callers"], len(callers))
        yield from differ("the callers that were hit", match["hit"] or match["callers"], len(hit))


def _is_hit(caller: str, work: list[Event], errors: list[Event]) -> bool:
    sessions, met = (sessions_of(event for event in rows if event.caller == caller) for rows in (work, errors))
    return len(met) >= 0.25 * len(sessions)


@says(
    r"Sessions with errors in the last (?P<days>COUNT) days: (?P<now>SHARE) of (?P<all_now>COUNT); a week "
    r"before (?P<before>SHARE) of (?P<all_before>COUNT)"
)
def _change(reader: Reader, match: Match) -> Iterator[str]:
    night, count = reader.night, int(match["days"])
    for name, last in (("now", last_day(night)), ("before", last_day(night) - timedelta(days=7))):
        days = days_up_to(last, count)
        seen = sessions_of(event for event in night.events if event.day in days)
        met = sessions_of(error for error in night.errors if error.day in days)
        yield from differ(f"the sessions ({name})", match[f"all_{name}"], len(seen))
        yield from differ(f"the share ({name})", match[name], share_of(len(met), len(seen)))


@says(r"(?P<callers>COUNT) callers? met (?P<errors>COUNT) errors?")
def _errors(reader: Reader, match: Match) -> Iterator[str]:
    yield from differ("the errors", match["errors"], len(reader.night.errors))
    yield from differ("the callers", match["callers"], len({event.caller for event in reader.night.events}))


@says(
    r"(?P<errors>COUNT) errors? of (?P<callers>COUNT) callers? in (?P<met>COUNT) of (?P<seen>COUNT) sessions?; "
    r"(?:none unknown|(?P<share>SHARE) unknown \((?P<unknown>COUNT) of (?P<counted>COUNT)\))"
)
def _errors_line(reader: Reader, match: Match) -> Iterator[str]:
    yield from _errors(reader, match)
    night = reader.night
    unknown = sum(error.reason == "unknown" for error in night.errors)
    yield from differ("the sessions with errors", match["met"], len(sessions_of(night.errors)))
    yield from differ("all sessions", match["seen"], len(night.starts))
    yield from differ("the unknown errors", match["unknown"] or 0, unknown)
    if match["share"]:
        yield from differ("the share", match["share"], share_of(unknown, len(night.errors)))
        yield from differ("those that count", match["counted"], len(night.errors))


@says(r"(?P<unknown>COUNT) of (?P<counted>COUNT) errors? are unknown \((?P<share>SHARE)\)")
def _unknown(reader: Reader, match: Match) -> Iterator[str]:
    unknown = sum(error.reason == "unknown" for error in reader.night.errors)
    yield from differ("the unknown errors", match["unknown"], unknown)
    yield from differ("those that count", match["counted"], len(reader.night.errors))
    yield from differ("the share", match["share"], share_of(unknown, len(reader.night.errors)))


@says(r"Unknown, (?P<times>COUNT) times?: (?P<text>.*?)(?= COUNT of COUNT retried | COUNT sessions? ended | Read |$)")
def _unknown_text(reader: Reader, match: Match) -> Iterator[str]:
    texts = [error.message for error in reader.night.errors if error.reason == "unknown"]
    counts = Counter(map(masked, texts))
    yield from differ("the number of times", match["times"], max(counts.values()))
    yield from holds("the text", counts[masked(match["text"]).replace("<<*>>", "<*>")] == int(match["times"]))


@says(
    r"(?P<recovered>COUNT) of (?P<ended>COUNT) retried calls? succeeded"
    rf"(?:; (?P<waited>{_LENGTH}) of waiting)?(?:, (?P<vain>{_LENGTH}) of it wasted)?"
)
def _retries(reader: Reader, match: Match) -> Iterator[str]:
    chains = list(reader.night.chains.values())
    recovered = [chain for chain in chains if chain.outcome == "recovered"]
    vain = sum(chain.waited_seconds for chain in chains if chain.outcome != "recovered")
    yield from differ("the calls", match["ended"], len(chains))
    yield from differ("those that recovered", match["recovered"], len(recovered))
    waited = sum(chain.waited_seconds for chain in chains)
    if match["waited"]:
        yield from differ("the wait", match["waited"], duration(waited))
        yield from differ("the wait in vain", match["vain"] or "0 s", duration(vain))


@says(
    r"(?P<relays>COUNT) hand-offs? in (?P<steps>COUNT) steps?, at most (?P<most>COUNT) in a "
    r"session(?:; (?P<halted>COUNT) failed)?"
)
def _relays(reader: Reader, match: Match) -> Iterator[str]:
    relays = [event for event in reader.night.events if event.kind == "relay.triggered"]
    yield from differ("the hand-offs", match["relays"], len(relays))
    yield from differ("the steps", match["steps"], len({relay.step_id for relay in relays}))
    yield from differ("the most of a session", match["most"], max(Counter(e.session for e in relays).values()))
    halted = sum(event.kind == "relay.halted" for event in reader.night.events)
    yield from differ("those given up", match["halted"] or 0, halted)


@says(r"The logs count (?P<count>COUNT) (?P<what>model requests?|tool calls?)")
def _logged(reader: Reader, match: Match) -> Iterator[str]:
    ends = [event for event in reader.night.events if event.kind == "session.observed"]
    requests = sum(event.requests for event in ends)
    calls = sum(sum(event.tools.values()) for event in ends)
    yield from differ(f"the {match['what']}", match["count"], requests if "model" in match["what"] else calls)


@says(
    r"(?P<failed>COUNT) tool calls? failed in (?P<met>COUNT) of (?P<seen>COUNT) sessions?(?:: (?P<tool>NAME) "
    r"(?P<own>COUNT) of (?P<calls>COUNT) \((?P<share>SHARE)\); things not found \((?P<missing>COUNT)\))?"
)
def _tool_calls(reader: Reader, match: Match) -> Iterator[str]:
    failed = [event for event in reader.night.events if event.kind == "tool.failed"]
    calls = sum(sum(e.tools.values()) for e in reader.night.events if e.kind == "session.observed")
    yield from differ("the sessions", match["met"], len(sessions_of(failed)))
    yield from differ("all sessions", match["seen"], len(reader.night.starts))
    for name in ("failed", *(("own", "missing") if match["tool"] else ())):
        yield from differ(f"the failed calls ({name})", match[name], len(failed))
    if match["tool"]:
        yield from differ("the tool", match["tool"], failed[0].tool)
        yield from differ("the calls", match["calls"], calls)
        yield from differ("the share", match["share"], share_of(len(failed), calls))


@says(
    r"(?P<first>COUNT) sessions? ended on (?P<how>an error|a failed tool) and never answered(?:, "
    r"(?P<second>COUNT) sessions? ended on (?:an error|a failed tool) and never answered)?"
)
def _stopped(reader: Reader, match: Match) -> Iterator[str]:
    counts = Counter(kind for kind, _, _ in unfinished(reader.night).values())
    names = ["after_error", "after_tool"]
    first, second = names if match["how"] == "an error" else reversed(names)
    yield from differ("the sessions", match["first"], counts[first])
    yield from differ("the other sessions", match["second"] or 0, counts[second])


@says(r"The days from (?P<first>DATE) to (?P<last>DATE) show")
def _drift(reader: Reader, match: Match) -> Iterator[str]:
    days = days_up_to(max(error.day for error in reader.night.errors), 7)
    yield from differ("the first day", match["first"], days[-1])
    yield from differ("the last day", match["last"], days[0])


@says(
    r"What is new in the last 7 days, compared with the 42 before|From 42 days before the onset on|with its 95 % "
    r"interval \(Wilson 1927\)|(?:on DATE|from DATE to DATE), most"
)
def _constants(_reader: Reader, _match: Match) -> Iterator[str]:
    """Take words of our own, and the days of a table whose rows are counted of just these days."""
    yield from ()


_FIGURES = {
    "Errors": ("errors", ""),
    "Share of sessions with errors": ("met", "seen"),
    "Share of errors that are unknown": ("unknown", "errors"),
    "Share of retried calls that succeeded": ("recovered", "ended"),
    "Hand-offs and compactions": ("relays", ""),
}
_NAMED = "|".join(_FIGURES)


def _counts(night: Night) -> dict[date, dict[str, int]]:
    """Return what figures are made of, by day."""
    made = {}
    for (day,), rows in grouped(night.events, field("day")).items():
        errors = [row for row in rows if row.kind == "error.classified"]
        chains = [row for row in rows if row.kind == "retry.settled"]
        made[date.fromisoformat(day)] = {
            "errors": len(errors),
            "met": len(sessions_of(errors)),
            "seen": len(sessions_of(rows)),
            "unknown": sum(error.reason == "unknown" for error in errors),
            "recovered": sum(chain.outcome == "recovered" for chain in chains),
            "ended": len(chains),
            "relays": sum(row.kind == "relay.triggered" for row in rows),
        }
    return made


def _figure(night: Night, name: str, days: Iterable[date]) -> str:
    """Return a figure of some days as it is written."""
    part, whole = _FIGURES[name]
    rows = [row for day, row in _counts(night).items() if day in set(days)]
    count = sum(row[part] for row in rows)
    return share_of(count, sum(row[whole] for row in rows)) if whole else f"{count}"


@says(
    r"(?:The (?P<days>COUNT) days to (?P<day>DATE)|(?P<only>DATE)), (?:compared with the COUNT before|and a"
    r" week earlier)(?: \((?P<had>COUNT) with events\))?"
)
def _days_of_figures(reader: Reader, match: Match) -> Iterator[str]:
    last, count = last_day(reader.night), int(match["days"] or 1)
    yield from differ("the day", match["day"] or match["only"], last)
    if match["had"]:
        before = days_up_to(last - timedelta(days=7), count)
        yield from differ("the days with events", match["had"], len(set(before) & set(_counts(reader.night))))


@says(rf"(?P<name>{_NAMED}):? (?P<now>[\d,.]+%?) (?:\((?P<was>[\d,.]+%?) before\)|(?P<before>[\d,.]+%?) before)")
def _moved(reader: Reader, match: Match) -> Iterator[str]:
    night, last = reader.night, last_day(reader.night)
    count = min(7, (last - min(_counts(night))).days + 1)
    now = days_up_to(last, count)
    yield from differ("the figure", match["now"], _figure(night, match["name"], now))
    before = _figure(night, match["name"], days_up_to(last - timedelta(days=7), count))
    yield from differ("the figure before", match["was"] or match["before"], before)


@says(
    rf"(?P<line>{_NAMED}) a day, of the last 14 days: from (?P<first>[\d,.%]+) to (?P<last>[\d,.%]+), between "
    r"(?P<low>[\d,.%]+) and (?P<high>[\d,.]+%?)(?:; (?P<gaps>COUNT) gaps? without data)?"
)
def _sparkline(reader: Reader, match: Match) -> Iterator[str]:
    night = reader.night
    days = list(reversed(days_up_to(last_day(night), 14)))
    part, whole = _FIGURES[match["line"]]
    rows = [_counts(night).get(day) for day in days]
    pairs = [(row[part], row[whole] if whole else 1) for row in rows if row and (not whole or row[whole])]
    written = [share_of(*pair) if whole else f"{pair[0]}" for pair in sorted(pairs, key=lambda pair: pair[0] / pair[1])]
    ends = [share_of(*pair) if whole else f"{pair[0]}" for pair in (pairs[0], pairs[-1])]
    for what, right in zip(("first", "last", "low", "high"), (*ends, written[0], written[-1]), strict=True):
        yield from differ(f"the {what} value", match[what].rstrip("."), right)
    yield from differ("the gaps", match["gaps"] or 0, len(days) - len(pairs))


@says(r"Nothing unusual in (?P<sessions>COUNT) sessions? and (?P<errors>COUNT) errors?")
def _quiet(reader: Reader, match: Match) -> Iterator[str]:
    yield from differ("the sessions", match["sessions"], len(reader.night.starts))
    yield from differ("the errors", match["errors"], len(reader.night.errors))


@says(r"Errors peaked on (?P<day>DATE): (?P<errors>COUNT)|(?P<only>COUNT) errors? on (?P<one>DATE)")
def _peak(reader: Reader, match: Match) -> Iterator[str]:
    counts = Counter(error.day for error in reader.night.errors)
    day = date.fromisoformat(match["day"] or match["one"])
    yield from differ("the errors", match["errors"] or match["only"], counts[day])
    yield from holds("the peak", counts[day] == max(counts.values()))


@says(r"(?P<recovered>COUNT) of (?P<all>COUNT) errors recovered")
def _recovered(reader: Reader, match: Match) -> Iterator[str]:
    night = reader.night
    ends = [night.chains[row.operation].outcome if row.operation else row.outcome for row in night.errors]
    yield from differ("the errors", match["all"], len(ends))
    yield from differ("those that recovered", match["recovered"], ends.count("recovered"))


@says(r"Most hand-offs and compactions on (?P<day>DATE): (?P<relays>COUNT)")
def _most_relays(reader: Reader, match: Match) -> Iterator[str]:
    counts = {day: row["relays"] for day, row in _counts(reader.night).items()}
    yield from differ("the hand-offs", match["relays"], max(counts.values()))
    yield from differ("the hand-offs of the day", match["relays"], counts[date.fromisoformat(match["day"])])


@says(r"(?P<reason>[a-z_]+) +(?P<errors>COUNT) +(?P<share>SHARE) +(?P<sessions>COUNT)")
def _reason_row(reader: Reader, match: Match) -> Iterator[str]:
    rows = [error for error in reader.night.errors if error.reason == match["reason"]]
    yield from differ("the errors", match["errors"], len(rows))
    yield from differ("the share", match["share"], share_of(len(rows), len(reader.night.errors)))
    yield from differ("the sessions", match["sessions"], len(sessions_of(rows)))


@says(r"Judged from (?P<pairs>COUNT) caller-days since (?P<first>DATE) under ruleset (?P<ruleset>[0-9a-f]{12})")
def _ground(reader: Reader, match: Match) -> Iterator[str]:
    pairs = {(error.caller, error.day) for error in reader.night.errors if error.day <= reader.day}
    yield from differ("the caller-days", match["pairs"], len(pairs))
    yield from differ("the first day", match["first"], min(day for _, day in pairs))


@says(r"[Mm]ade (?P<at>DATE TIME) UTC")
def _made(_reader: Reader, match: Match) -> Iterator[str]:
    age = datetime.now(UTC).replace(tzinfo=None) - datetime.fromisoformat(match["at"])
    yield from holds("that it was made now", timedelta(0) <= age < timedelta(hours=1))


@says(r"[1-9a-z ]+ findings? for (?P<day>DATE)|for (?P<other>DATE)")
def _judged(reader: Reader, match: Match) -> Iterator[str]:
    yield from differ("the day", match["day"] or match["other"], reader.day)


@says(r"no error came in on (?P<day>DATE); the last day with any is (?P<last>DATE): are the logs still read")
def _no_error(reader: Reader, match: Match) -> Iterator[str]:
    yield from differ("the day", match["day"], reader.day)
    yield from differ("the last day", match["last"], max(e.day for e in reader.night.errors if e.day <= reader.day))


@says(r"Ruleset [0-9a-f]{12} is in force")
def _ruleset(_reader: Reader, _match: Match) -> Iterator[str]:
    yield from ()
