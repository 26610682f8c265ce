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


@says(r"The last day with events, (?P<weekday>[A-Z][a-z]+day) (?P<day>DATE)")
def _last_day(reader: Reader, match: Match) -> Iterator[str]:
    day = last_day(reader.night)
    yield from differ("the last day", f"{match['weekday']} {match['day']}", f"{day:%A} {day}")


@says(r"(?P<seen>COUNT) sessions? looked at, (?:(?P<errors>COUNT) errors? in (?P<met>COUNT) of them|no error)")
def _looked_at(reader: Reader, match: Match) -> Iterator[str]:
    night, day = reader.night, last_day(reader.night)
    errors = [error for error in night.errors if error.day == day]
    yield from differ("the number of sessions", match["seen"], len({e.session for e in night.events if e.day == day}))
    yield from differ("the number of errors", match["errors"] or 0, len(errors))
    yield from differ("the sessions with errors", match["met"] or 0, len(sessions_of(errors)))


def _chains(night: Night, days: Iterable[date]) -> list[Event]:
    wanted = set(days)
    return [chain for chain in night.chains.values() if chain.day in wanted]


@says(r"; in (?P<failed>COUNT) a retry gave up")
def _gave_up(reader: Reader, match: Match) -> Iterator[str]:
    chains = [chain for chain in _chains(reader.night, [last_day(reader.night)]) if chain.outcome != "recovered"]
    yield from differ("the number of sessions", match["failed"], len(sessions_of(chains)))


@says(rf"; (?P<waited>{_LENGTH}) waited for retries")
def _waited(reader: Reader, match: Match) -> Iterator[str]:
    waits = (chain.waited_seconds for chain in _chains(reader.night, [last_day(reader.night)]))
    yield from differ("the wait", match["waited"], duration(sum(waits)))


@says(r"Most errors: (?P<caller>NAME) \((?P<errors>COUNT)\)")
def _most_errors(reader: Reader, match: Match) -> Iterator[str]:
    counts = Counter(e.caller for e in reader.night.errors if e.day == last_day(reader.night))
    yield from differ("the most errors", match["errors"], max(counts.values()))
    yield from differ("the errors of the caller", match["errors"], counts[match["caller"]])


@says(r"Best recovery: (?P<caller>NAME) \((?P<recovered>COUNT) of (?P<ended>COUNT) retried calls?\)")
def _best_recovery(reader: Reader, match: Match) -> Iterator[str]:
    chains = _chains(reader.night, [last_day(reader.night)])
    own = [chain for chain in chains if chain.caller == match["caller"]]
    yield from differ("the calls", match["ended"], len(own))
    yield from differ("those that recovered", match["recovered"], sum(chain.outcome == "recovered" for chain in own))


@says(r"(?P<read>COUNT) lines? read of (?P<lines>COUNT) in (?P<files>COUNT) files?")
def _lines(reader: Reader, match: Match) -> Iterator[str]:
    for name in ("read", "lines"):
        yield from differ(f"the lines ({name})", match[name], len(reader.night.events))
    yield from differ("the files", match["files"], 1)


def _by_text(night: Night) -> dict[tuple[str, ...], list[Event]]:
    return grouped(night.errors, field("reason"), lambda error: masked(error.message))


@says(
    r"Failed most: one (?P<reason>NAME) message, (?P<times>COUNT) times? in (?P<met>COUNT) of (?P<seen>COUNT) sessions?"
    r"(?:; (?P<failed>COUNT) gave up)?(?:: “(?P<quote>[^”]*)”)?"
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
    yield from differ("the sessions that gave up", match["failed"] or 0, failed.get(key, 0))


@says(r"All requests cost \$(?P<usd>DECIMAL), at list prices or as logged|What requests cost: \$(?P<only>DECIMAL)")
def _all_cost(reader: Reader, match: Match) -> Iterator[str]:
    yield from differ("the cost", match["usd"], f"{sum(map(usd_of, requests_of(reader.night))):.2f}")
    yield from holds("that no failure cost any of it", not unfinished(reader.night))


@says(
    r"Failures cost \$(?P<usd>DECIMAL) of \$(?P<whole>DECIMAL)"
    r"(?:; (?:all|\$(?P<most>DECIMAL)) of it the last requests of sessions that stopped, at list prices or as logged)?"
)
def _failure_cost(reader: Reader, match: Match) -> Iterator[str]:
    usd = sum(usd_of(request) for _, _, request in unfinished(reader.night).values())
    yield from differ("the cost of failures", match["usd"], f"{usd:.2f}")
    yield from differ("the cost of all requests", match["whole"], f"{sum(map(usd_of, requests_of(reader.night))):.2f}")
    yield from differ("the most of it", match["most"] or match["usd"], f"{usd:.2f}")


@says(r"Whose errors: (?P<parties>(?:[a-z]+(?: named)? SHARE(?:, )?)+)")
def _whose(reader: Reader, match: Match) -> Iterator[str]:
    counts = Counter(PARTIES[error.reason] for error in reader.night.errors)
    total, named = sum(counts.values()), 0
    for part in match["parties"].rstrip(", ").split(", "):
        party, _, share = part.rpartition(" ")
        party = "unknown" if party == "nobody named" else party
        count = total - named if party == "others" else counts[party]
        named += count
        yield from differ(f"the share of {party}", share, share_of(count, total))


_WHOSE = {
    "Theirs": {"provider"},
    "Yours, the account's": {"account"},
    "Yours, what was asked": {"request", "unknown", "provider"},
    "Yours, this machine's": {"environment"},
    "Of unknown cause": {"unknown"},
}


@says(
    r"(?P<whose>Theirs|Yours, [a-z' ]+|Of unknown cause): (?P<met>COUNT) of (?P<seen>COUNT) sessions? at"
    r" (?P<provider>NAME) met (?P<reason>NAME) errors (?:between (?P<first>TIME) and (?P<last>TIME)|at (?P<at>TIME))"
    r" UTC on (?P<day>DATE)(?:, (?P<hit>COUNT) of (?P<callers>COUNT) callers hit)?"
    r"(?:; of (?P<others>COUNT) sessions? at other providers (?P<other_met>COUNT) did)?"
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
    yield from differ("the first time", match["first"] or match["at"], f"{min(error.at for error in own):%H:%M}")
    yield from differ("the last time", match["last"] or match["at"], f"{max(error.at for error in own):%H:%M}")
    if match["others"]:
        yield from differ("other sessions", match["others"], len(sessions_of(work)) - len(there))
        yield from differ("others that met it", match["other_met"], len(sessions_of(rows)) - len(sessions_of(own)))
    if match["callers"]:
        callers = {event.caller for event in work if event.provider == match["provider"]}
        hit = {caller for caller in callers if _is_hit(caller, work, own)}
        yield from differ("the callers", match["callers"], len(callers))
        yield from differ("the callers that were hit", match["hit"], len(hit))


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


@says(r"(?P<errors>COUNT) classified errors? by (?P<callers>COUNT) callers?")
def _errors(reader: Reader, match: Match) -> Iterator[str]:
    yield from differ("the errors", match["errors"], len(reader.night.errors))
    yield from differ("the callers", match["callers"], len({event.caller for event in reader.night.events}))


@says(
    r"(?P<errors>COUNT) errors? of (?P<callers>COUNT) callers? in (?P<met>COUNT) of (?P<seen>COUNT) sessions?; "
    r"(?P<share>SHARE) unknown \((?P<unknown>COUNT) of (?P<counted>COUNT)\)"
)
def _errors_line(reader: Reader, match: Match) -> Iterator[str]:
    yield from _errors(reader, match)
    night = reader.night
    unknown = sum(error.reason == "unknown" for error in night.errors)
    yield from differ("the sessions with errors", match["met"], len(sessions_of(night.errors)))
    yield from differ("all sessions", match["seen"], len(night.starts))
    yield from differ("the unknown errors", match["unknown"], unknown)
    yield from differ("the share", match["share"], share_of(unknown, len(night.errors)))
    yield from differ("those that count", match["counted"], len(night.errors))


@says(r"(?P<unknown>COUNT) of (?P<counted>COUNT) errors? that count are unknown \((?P<share>SHARE)\)")
def _unknown(reader: Reader, match: Match) -> Iterator[str]:
    unknown = sum(error.reason == "unknown" for error in reader.night.errors)
    yield from differ("the unknown errors", match["unknown"], unknown)
    yield from differ("those that count", match["counted"], len(reader.night.errors))
    yield from differ("the share", match["share"], share_of(unknown, len(reader.night.errors)))


@says(r"Unknown, (?P<times>COUNT) times?: (?P<text>.*?)(?= Retries: |$)")
def _unknown_text(reader: Reader, match: Match) -> Iterator[str]:
    texts = [error.message for error in reader.night.errors if error.reason == "unknown"]
    counts = Counter(map(masked, texts))
    yield from differ("the number of times", match["times"], max(counts.values()))
    yield from holds("the text", counts[masked(match["text"]).replace("<<*>>", "<*>")] == int(match["times"]))


@says(
    r"Retries: (?P<recovered>COUNT) of (?P<ended>COUNT) that ended recovered \((?P<share>SHARE)\); "
    rf"(?P<waited>{_LENGTH}) waited, (?P<vain>{_LENGTH}) in vain"
)
def _retries(reader: Reader, match: Match) -> Iterator[str]:
    chains = list(reader.night.chains.values())
    recovered = [chain for chain in chains if chain.outcome == "recovered"]
    vain = sum(chain.waited_seconds for chain in chains if chain.outcome != "recovered")
    yield from differ("the calls", match["ended"], len(chains))
    yield from differ("those that recovered", match["recovered"], len(recovered))
    yield from differ("the share", match["share"], share_of(len(recovered), len(chains)))
    yield from differ("the wait", match["waited"], duration(sum(chain.waited_seconds for chain in chains)))
    yield from differ("the wait in vain", match["vain"], duration(vain))


@says(
    r"(?P<relays>COUNT) hand-offs? to fresh context in (?P<steps>COUNT) steps?, at most (?P<most>COUNT) in a "
    r"session(?:, (?P<halted>COUNT) given up)?"
)
def _relays(reader: Reader, match: Match) -> Iterator[str]:
    relays = [event for event in reader.night.events if event.kind == "relay.triggered"]
    yield from differ("the hand-offs", match["relays"], len(relays))
    yield from differ("the steps", match["steps"], len({relay.step_id for relay in relays}))
    yield from differ("the most of a session", match["most"], max(Counter(e.session for e in relays).values()))
    halted = sum(event.kind == "relay.halted" for event in reader.night.events)
    yield from differ("those given up", match["halted"] or 0, halted)


@says(r"The logs that count them show (?P<count>COUNT) (?P<what>model requests|calls of tools)")
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
    r"(?P<first>COUNT)(?: sessions?)? stopped after (?P<how>an error|a failed tool) without an answer(?:, "
    r"(?P<second>COUNT) after (?:an error|a failed tool) without an answer)?"
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
    r"What the last 7 days have that the 42 before them had not|From 42 days before the onset on|with its 95 % interval"
    r" \(Wilson 1927\)|\(DATE(?: to DATE)?\), by (?:message|session)"
)
def _constants(_reader: Reader, _match: Match) -> Iterator[str]:
    """Take words of our own, and the days of a table whose rows are counted of just these days."""
    yield from ()


def _course(night: Night, name: str) -> dict[date, tuple[int, int]]:
    """Return what a tile's line is about by day: the count, and of shares what it is a part of."""
    made = {}
    for (day,), rows in grouped(night.events, field("day")).items():
        errors = [row for row in rows if row.kind == "error.classified"]
        chains = [row for row in rows if row.kind == "retry.settled"]
        made[date.fromisoformat(day)] = {
            "Errors": (len(errors), 1),
            "Unknown share": (sum(error.reason == "unknown" for error in errors), len(errors)),
            "Retries recovered": (sum(chain.outcome == "recovered" for chain in chains), len(chains)),
            "Handed off or compacted": (sum(row.kind == "relay.triggered" for row in rows), 1),
        }[name]
    return made


_TILES = {
    "Errors a day": "Errors",
    "Unknown share a day": "Unknown share",
    "Share of retries that recovered a day": "Retries recovered",
    "Hand-offs and compactions a day": "Handed off or compacted",
}


def _written(name: str, pair: tuple[int, int]) -> str:
    return str(pair[0]) if name in {"Errors", "Handed off or compacted"} else share_of(*pair)


@says(
    r"(?P<line>Errors a day|Unknown share a day|Share of retries that recovered a day|Hand-offs and compactions a day),"
    r" of the last 14 days: from (?P<first>[\d,.%]+) to (?P<last>[\d,.%]+), between (?P<low>[\d,.%]+) and"
    r" (?P<high>[\d,.]+%?)(?:; (?P<gaps>COUNT) gaps? without data)?"
)
def _sparkline(reader: Reader, match: Match) -> Iterator[str]:
    name, night = _TILES[match["line"]], reader.night
    course = _course(night, name)
    pairs = [course.get(day, (0, 0)) for day in reversed(days_up_to(last_day(night), 14))]
    known = [pair for pair in pairs if pair[1]]
    ordered = sorted(known, key=lambda pair: pair[0] / pair[1])
    for what, pair in (("first", known[0]), ("last", known[-1]), ("low", ordered[0]), ("high", ordered[-1])):
        yield from differ(f"the {what} value", match[what].rstrip("."), _written(name, pair))
    yield from differ("the gaps", match["gaps"] or 0, len(pairs) - len(known))


@says(
    r"(?P<name>Errors|Unknown share|Retries recovered|Handed off or compacted) (?P<figure>[\d,.%]+)"
    r"(?: (?P<more>[^L]*?))?(?: Last (?P<days>COUNT) days: (?P<now>[\d,.]+%?), (?:as the week before|(?P<way>up|down)"
    r" from (?P<before>[\d,.]+%?))(?: on (?P<had>COUNT) days?)?|$)"
)
def _tile(reader: Reader, match: Match) -> Iterator[str]:
    name, night = match["name"], reader.night
    course = _course(night, name)
    part, of = (sum(column) for column in zip(*course.values(), strict=True))
    yield from differ("the figure", match["figure"], _written(name, (part, 1 if name in _COUNTS else of)))
    yield from _tile_beside(night, name, match["more"] or "")
    if match["days"]:
        weeks = []
        for last in (last_day(night), last_day(night) - timedelta(days=7)):
            pairs = [course[day] for day in days_up_to(last, int(match["days"])) if day in course]
            part, of = (sum(column) for column in zip(*pairs, strict=True))
            weeks.append((part, 1 if name in _COUNTS else of))
        yield from differ("the last days", match["now"], _written(name, weeks[0]))
        if match["before"]:
            yield from differ("the days before", match["before"], _written(name, weeks[1]))
            grew = weeks[0][0] / weeks[0][1] > weeks[1][0] / weeks[1][1]
            yield from differ("the way", match["way"], "up" if grew else "down")


_COUNTS = frozenset({"Errors", "Handed off or compacted"})


def _tile_beside(night: Night, name: str, text: str) -> Iterator[str]:
    """Count what a tile says below its figure."""
    errors, chains = night.errors, list(night.chains.values())
    unknown = sum(error.reason == "unknown" for error in errors)
    recovered = sum(chain.outcome == "recovered" for chain in chains)
    callers = len({event.caller for event in night.events})
    right = {
        "Errors": f"{callers} callers, {len(sessions_of(errors))} of {len(night.starts)} sessions",
        "Unknown share": f"{unknown} of {len(errors)} that count",
        "Retries recovered": f"{recovered} of {len(chains)} retried calls that ended",
        "Handed off or compacted": "",
    }[name]
    yield from differ("what is below the figure", text, right)


@says(r"Cost of failures \$(?P<usd>DECIMAL) of \$(?P<whole>DECIMAL), at list prices")
def _cost_tile(reader: Reader, match: Match) -> Iterator[str]:
    usd = sum(usd_of(request) for _, _, request in unfinished(reader.night).values())
    yield from differ("the cost of failures", match["usd"], f"{usd:.2f}")
    yield from differ("the cost of all requests", match["whole"], f"{sum(map(usd_of, requests_of(reader.night))):.2f}")


@says(r"Cost \$(?P<usd>DECIMAL) all requests")
def _whole_cost_tile(reader: Reader, match: Match) -> Iterator[str]:
    yield from differ("the cost", match["usd"], f"{sum(map(usd_of, requests_of(reader.night))):.2f}")


@says(r"Failed tool calls (?P<failed>COUNT) of (?P<calls>COUNT), in (?P<met>COUNT) sessions?")
def _tools_tile(reader: Reader, match: Match) -> Iterator[str]:
    failed = [event for event in reader.night.events if event.kind == "tool.failed"]
    calls = sum(sum(e.tools.values()) for e in reader.night.events if e.kind == "session.observed")
    yield from differ("the failed calls", match["failed"], len(failed))
    yield from differ("the calls", match["calls"], calls)
    yield from differ("the sessions", match["met"], len(sessions_of(failed)))


@says(r"Lines read (?P<lines>COUNT) all of them readable")
def _lines_tile(reader: Reader, match: Match) -> Iterator[str]:
    yield from differ("the lines", match["lines"], len(reader.night.events))


@says(r"and (?P<reasons>COUNT) more reasons? with (?P<errors>COUNT) errors?")
def _more_reasons(reader: Reader, match: Match) -> Iterator[str]:
    counts = sorted(Counter(error.reason for error in reader.night.errors).values())
    hidden = int(match["reasons"])
    yield from differ("their errors", match["errors"], sum(counts[:hidden]))


@says(
    r"(?P<reason>[a-z_]+) +(?P<errors>COUNT) +(?P<share>SHARE) +(?P<recovered>COUNT) +(?P<exhausted>COUNT) "
    r"+(?P<surfaced>COUNT) +(?P<other>COUNT)"
)
def _reason_row(reader: Reader, match: Match) -> Iterator[str]:
    night = reader.night
    rows = [error for error in night.errors if error.reason == match["reason"]]
    ends = Counter(night.chains[row.operation].outcome if row.operation else row.outcome for row in rows)
    yield from differ("the errors", match["errors"], len(rows))
    yield from differ("the share", match["share"], share_of(len(rows), len(night.errors)))
    for name in ("recovered", "exhausted", "surfaced"):
        yield from differ(f"those {name}", match[name], ends[name])


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
