"""A second, plain count of what sentences say, out of the lines of a night; it imports nothing of the program.

A text is read from left to right. Each number, time, name and quoted text in it has to be part of a sentence of
`RULES`, which is counted again; what is part of none is unaccounted for, and a difference like a wrong count.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from functools import cached_property
from typing import Any
from zoneinfo import ZoneInfo

Line = dict[str, Any]
Finding = dict[str, Any]
Match = re.Match[str]
SHARED = ("provider", "model", "project")
UNKNOWN = frozenset({"spike", "drift", "template", "shared_template", "unknown_rate"})
"""Kinds of findings about errors that no rule knows."""
NO_EVENTS = frozenset({"silence", "traffic_changed", "classifier_changed"})
OF_CHAINS = frozenset({"retries_exhausted", "waits_grow"})
OF_SESSIONS = frozenset({"tool_failures", "sessions_unanswered"})
"""Kinds about no error of their own: what they name are days."""


PRICES = {
    "claude-opus-4-5": (5.0, 25.0),
    "claude-sonnet-4-5": (3.0, 15.0),
    "gpt-5": (1.25, 10.0),
    "gemini-2.5-pro": (1.25, 10.0),
}
"""US dollars of a million tokens of the prompt and of the answer, as providers list them."""


def usd_of(event: Event) -> float:
    """Return what a request costs at list prices."""
    prompt, answer = PRICES[event.model]
    return float(event.input_tokens * prompt + event.output_tokens * answer) / 1_000_000


def masked(text: str) -> str:
    """Return the text without its values, as sentences quote it where these differ."""
    return re.sub(r"\d+", "<*>", text)


@dataclass(frozen=True, eq=False)
class Event:
    """One line, with its day in the zone of the night."""

    line: Line
    at: datetime
    day: date

    def __getattr__(self, name: str) -> Any:
        """Return a field of the payload; None for one that it has not."""
        return self.line["payload"].get(name)

    @property
    def kind(self) -> str:
        """The type of the event."""
        return str(self.line["type"])

    @property
    def session(self) -> str:
        """The session that it is of."""
        return str(self.line["sessionId"])

    @property
    def message(self) -> str:
        """The text of an error or of a failed tool."""
        payload = self.line["payload"]
        return str(payload.get("facts", payload).get("message", ""))


class Night:
    """All events up to a day, and the questions that sentences answer."""

    def __init__(self, lines: Iterable[Line], zone: str) -> None:
        self.zone = ZoneInfo(zone)
        self.zone_name = zone
        self.events = [self._event(line) for line in lines]
        self.errors = [event for event in self.events if event.kind == "error.classified"]
        self.chains = {event.operation: event for event in self.events if event.kind == "retry.settled"}

    def _event(self, line: Line) -> Event:
        at = datetime.fromisoformat(line["timestamp"].removesuffix("Z"))
        return Event(line, at, self.local(at).date())

    def local(self, at: datetime) -> datetime:
        """Return a moment of the zone."""
        return at.replace(tzinfo=UTC).astimezone(self.zone)

    @cached_property
    def names(self) -> frozenset[str]:
        """Names of callers, providers, models, reasons and tools, but for `unknown`, which is a word, too."""
        fields = ("caller", "provider", "model", "reason", "tool")
        names = {getattr(event, field) for event in self.events for field in fields}
        return frozenset(names - {None, "unknown", "fetch"})

    @cached_property
    def starts(self) -> dict[str, datetime]:
        """The moment at which each session began, as its log says."""
        ends = (event for event in self.events if event.kind == "session.observed")
        return {event.session: datetime.fromisoformat(event.started_at.removesuffix("Z")) for event in ends}

    def sessions(self, callers: Collection[str], days: Collection[date]) -> set[str]:
        """Return the sessions of callers on some days."""
        return {event.session for event in self.events if event.day in days and event.caller in callers}

    @cached_property
    def unanswered(self) -> set[str]:
        """The sessions whose last event before their end is a failure: of a tool, or an error that nothing mended."""
        last = {event.session: event for event in self.events if event.kind != "session.observed"}
        failures = {
            "tool.failed": lambda event: True,
            "error.classified": lambda event: event.reason != "tool_not_found",
            "retry.settled": lambda event: event.outcome != "recovered",
        }
        return {name for name, event in last.items() if event.kind in failures and failures[event.kind](event)}

    def recovered(self, error: Event) -> bool:
        """Whether a retry recovered from an error."""
        chain = self.chains.get(error.operation)
        return chain is not None and chain.outcome == "recovered"

    def failed(self, errors: Iterable[Event]) -> set[str]:
        """Return the sessions with an error among these that no retry recovered from."""
        return {error.session for error in errors if not self.recovered(error)}


def days_up_to(last: date, count: int) -> list[date]:
    """Return so many days, of which this is the last."""
    return [last - timedelta(days=back) for back in range(count)]


class About:
    """A finding beside the events of the night: those that it is about."""

    def __init__(self, night: Night, finding: Finding) -> None:
        self.night, self.finding, self.scope = night, finding, finding["scope"]
        self.first, self.last = (date.fromisoformat(finding["window"][end]) for end in ("since", "until"))
        self.onset = date.fromisoformat(finding["onset"])
        self.who = next(filter(None, (self.scope[name] for name in ("caller", *SHARED, "tool"))), "the fleet")

    @property
    def reason(self) -> str | None:
        """The reason that its errors have."""
        return "unknown" if self.finding["finding"] in UNKNOWN else self.scope["reason"]

    @cached_property
    def errors(self) -> list[Event]:
        """Its errors, of any day."""
        text = masked(self.finding["samples"][0]) if self.scope["template"] and self.finding["samples"] else None
        return [
            error
            for error in self.night.errors
            if all(getattr(error, name) == self.scope[name] for name in ("caller", *SHARED) if self.scope[name])
            and self.reason in {None, error.reason}
            and text in {None, masked(error.message)}
        ]

    @cached_property
    def callers(self) -> set[str]:
        """The callers that it is about: of what they share, those that ever met errors of it."""
        if self.scope["caller"]:
            return {self.scope["caller"]}
        if not any(self.scope[name] for name in SHARED):
            return {event.caller for event in self.night.events}
        whose = [e for e in self.night.errors if all(getattr(e, n) == self.scope[n] for n in SHARED if self.scope[n])]
        return {error.caller for error in whose if error.day <= self.last}

    def failed_tool(self, event: Event) -> bool:
        """Whether an event is a failed call of its tool, by its caller if it has one."""
        is_own = event.tool == self.scope["tool"] and self.scope["caller"] in {None, event.caller}
        return event.kind == "tool.failed" and is_own

    def relays(self, day: date) -> list[Event]:
        """Return the hand-offs of its caller and step on a day."""
        relays = [e for e in self.night.events if e.kind == "relay.triggered" and e.day == day]
        return [e for e in relays if e.caller == self.who and e.step_id == self.scope["step"]]

    def anything(self, day: date) -> bool:
        """Whether anything of it happened on a day, whatever it is about."""
        kind = self.finding["finding"]
        if self.scope["tool"]:
            return any(e.day == day and self.failed_tool(e) for e in self.night.events)
        if kind == "sessions_unanswered":
            return bool(self.night.sessions(self.callers, [day]) & self.night.unanswered)
        if self.scope["step"]:
            return bool(self.relays(day))
        # A silence has no event, and its sentence is counted again.
        return bool(kind in NO_EVENTS or self.on(day) or (kind in OF_CHAINS and chains_of(self, [day])))

    @property
    def last_seen(self) -> date:
        """The day of its last error or hand-off; of what is about neither the last day that it names."""
        if self.scope["step"]:
            return max((day for day in days_up_to(self.last, 15) if self.relays(day)), default=self.last)
        if self.finding["finding"] in NO_EVENTS | OF_CHAINS | OF_SESSIONS:
            return self.last
        return max((error.day for error in self.inside()), default=self.last)

    def inside(self) -> list[Event]:
        """Return its errors from the first to the last that its JSON names."""
        ends = [(self.finding[name] or "").removesuffix("Z") for name in ("first_error_at", "last_error_at")]
        if not all(ends):
            return []
        first, last = map(datetime.fromisoformat, ends)
        return [error for error in self.errors if first <= error.at <= last]

    @cached_property
    def counted(self) -> list[Event]:
        """The events that the finding counts: its errors, or what else its kind is about, on the days that it says."""
        kind, weeks = self.finding["finding"], {"recovery_fell": 7, "retry_in_vain": 49, "retry_would_pay": 49}
        days = days_up_to(self.last, weeks.get(kind) or (self.last - self.onset).days + 1)
        events = [event for event in self.night.events if event.day in days]
        if kind == "relays":
            return [relay for day in days for relay in self.relays(day)]
        if kind == "tool_failures":
            return [event for event in events if self.failed_tool(event)]
        if kind == "sessions_unanswered":
            failures = [e for e in events if e.kind in {"tool.failed", "error.classified"} and e.caller in self.callers]
            return [e for name, e in {e.session: e for e in failures}.items() if name in self.night.unanswered]
        if kind in {"retries_exhausted", "waits_grow"}:
            chains = chains_of(self, days)
            least = re.search(r"waited for ([\d,]+) s or more", self.finding["explanation"])
            seconds = float(least[1].replace(",", "")) if least else None
            return [e for e in chains if (e.outcome == "exhausted" if seconds is None else e.waited_seconds >= seconds)]
        if kind in weeks:
            own = [e for e in chains_of(self, days) if e.reason == self.scope["reason"]]
            recent = days_up_to(self.last, 7)
            untried = [e for e in own if e.attempts == 1 and e.outcome != "recovered" and e.day in recent]
            return [e for e in own if e.attempts > 1] + (untried if kind == "retry_would_pay" else [])
        return self.inside()

    def on(self, *days: date) -> list[Event]:
        """Return its errors on some days."""
        return [error for error in self.errors if error.day in days]


@dataclass
class Reader:
    """Reads texts about one night, and keeps what is wrong with them."""

    night: Night
    finding: About | None = None
    day: date = date.max
    """The day that is judged."""
    phrases: Collection[str] = ()
    """What was counted again already, as it stands: the sentences and titles of findings, their ids and days."""

    def read(self, text: str) -> list[str]:
        """Return what is wrong with a text, each with the words in question."""
        wrong, place, flat = [], 0, " ".join(text.split())
        token = self._token
        phrases = {" ".join(phrase.split()) for phrase in self.phrases}
        while place < len(flat):
            if length := max((_length_of(each, flat, place) for each in phrases), default=0):
                place += length
                continue
            for pattern, check, of_finding in RULES:
                if of_finding and self.finding is None:
                    continue
                if (match := pattern.match(flat, place)) and match.end() > place:
                    wrong += [f"{match[0]!r}: {problem}" for problem in check(self, match)]
                    place = match.end()
                    break
            else:
                if match := token.match(flat, place):
                    around = flat[max(0, place - 60) : match.end() + 40]
                    wrong.append(f"unaccounted: {match[0]!r} in …{around}…")
                    place = match.end()
                else:
                    place = _next_word(flat, place)
        return wrong

    @cached_property
    def _token(self) -> re.Pattern[str]:
        names = "|".join(map(re.escape, sorted(self.night.names, key=len, reverse=True)))
        return re.compile(rf"“[^”]*”|(?:{names})(?![\w-])|[\w$-]*\d[\w.,:%-]*")


def _length_of(phrase: str, text: str, place: int) -> int:
    """Return how much of a text at a place a phrase is, which may have its middle left out; 0 where it is not."""
    if text.startswith(phrase, place):
        return len(phrase)
    cut = text.find(" … ", place, place + len(phrase))
    if cut <= place or not phrase.startswith(text[place:cut].rstrip()):
        return 0
    behind = text[cut + 3 :]
    end = next((size for size in range(len(phrase), 20, -1) if behind.startswith(phrase[-size:].lstrip())), 0)
    return cut + 3 + len(phrase[-end:].lstrip()) - place if end else 0


def _next_word(text: str, place: int) -> int:
    """Return the place after a word, or after a sign."""
    begin = place
    while place < len(text) and (text[place].isalnum() or text[place] in "_-"):
        place += 1
    return max(place, begin + 1)


Check = Callable[[Reader, Match], Iterable[str]]
RULES: list[tuple[re.Pattern[str], Check, bool]] = []
"""Patterns with what counts a sentence again, and whether it is one about a finding."""
_PARTS = {
    "DATE": r"\d{4}-\d\d-\d\d",
    "TIME": r"\d\d:\d\d",
    "COUNT": r"\d[\d,]*",
    "DECIMAL": r"\d[\d,]*(?:\.\d+)?",
    "SHARE": r"\d[\d.]*%",
    "NAME": r"\w(?:[\w.-]*\w)?",
    "ZONE": r"(?: UTC| \([A-Z]\w+/\w+\))",
}


def says(pattern: str) -> Callable[[Check], Check]:
    """Register what counts a sentence again; DATE, TIME, COUNT, DECIMAL, SHARE, NAME and ZONE stand for these."""

    def register(check: Check) -> Check:
        RULES.append((_compiled(pattern), check, False))
        return check

    return register


def says_of_finding(pattern: str) -> Callable[[Callable[[About, Match], Iterable[str]]], None]:
    """Register what counts a sentence about a finding again."""

    def register(check: Callable[[About, Match], Iterable[str]]) -> None:
        def of_reader(reader: Reader, match: Match) -> Iterable[str]:
            assert reader.finding is not None
            return check(reader.finding, match)

        RULES.append((_compiled(pattern), of_reader, True))

    return register


def _compiled(pattern: str) -> re.Pattern[str]:
    return re.compile(re.sub(r"\b(?:DATE|TIME|COUNT|DECIMAL|SHARE|NAME|ZONE)\b", lambda part: _PARTS[part[0]], pattern))


def differ(what: str, shown: object, recounted: object) -> Iterator[str]:
    """Say what is shown otherwise than it is recounted."""
    if str(shown).replace(",", "") != str(recounted):
        yield f"{what} is {shown}, recounted {recounted}"


def holds(what: str, fact: object) -> Iterator[str]:
    """Say what does not hold."""
    if not fact:
        yield f"{what} does not hold"


def share_of(part: int, whole: int) -> str:
    """Return a share as sentences write it."""
    return f"{100 * part / whole:.1f}%" if whole else "–"


def span_of(about: About, match: Match) -> list[date]:
    """Return the days of `on 2026-11-09`, `from 2026-11-07 to 2026-11-09` or `within 3 days`, up to the last one."""
    named = match.groupdict()
    if first := named.get("first_day"):
        last = date.fromisoformat(named["last_day"] or first)
        return days_up_to(last, (last - date.fromisoformat(first)).days + 1)
    return days_up_to(about.last, int(named.get("days") or 1))


_OVER = r" (?:on|from) (?P<first_day>DATE)(?: to (?P<last_day>DATE))?"
_EXPECTED = r" \(normally (?P<expected>DECIMAL)\)"
_ON_DAY = r"(?: on (?P<day>DATE))?"


def day_of(about: About, match: Match) -> date:
    """Return the day that a sentence names, else the finding's last one."""
    return date.fromisoformat(match["day"]) if match["day"] else about.last


@says_of_finding(
    r"(?P<name>NAME|the fleet), (?:(?P<first>TIME on \d+ [A-Z][a-z]+) to (?P<last>TIME on \d+ [A-Z][a-z]+)(?:ZONE)?"
    r"|(?P<begin>TIME)(?:–(?P<end>TIME))? on (?P<day>\d+ [A-Z][a-z]+)(?:ZONE)?"
    r"|(?:since )?(?P<onset>DATE)(?: to (?P<seen>DATE))?): "
)
def _lead(about: About, match: Match) -> Iterator[str]:
    yield from differ("who", match["name"], about.who)
    if match["onset"]:
        yield from differ("the onset", match["onset"], about.onset)
        yield from differ("the last day", match["seen"] or about.last_seen, about.last_seen)
        return
    errors = about.counted
    begin, end = (f"{(at := about.night.local(e.at)):%H:%M} on {at.day} {at:%B}" for e in (errors[0], errors[-1]))
    yield from differ("the first error", match["first"] or f"{match['begin']} on {match['day']}", begin)
    yield from differ("the last error", match["last"] or f"{match['end'] or match['begin']} on {match['day']}", end)


def estimated(about: About, shown: str) -> Iterator[str]:
    """Hold an estimate of the tests to the finding's own figure: no count of events gives it."""
    yield from holds("the estimate", abs(float(shown.replace(",", "")) - (about.finding["expected"] or 0)) <= 0.5)


@says_of_finding(
    rf"(?P<unknown>COUNT) of (?P<every>COUNT) distinct errors?{_ON_DAY} matched no rule \((?P<share>SHARE), "
    r"normally (?P<estimate>SHARE)(?:, at most SHARE|, between SHARE and SHARE)?\), in (?P<sessions>COUNT) sessions?"
)
def _unknown_share(about: About, match: Match) -> Iterator[str]:
    day = day_of(about, match)
    every = {(e.session, masked(e.message)) for e in about.night.errors if e.caller == about.who and e.day == day}
    unknown = {(e.session, masked(e.message)) for e in about.on(day)}
    yield from differ("the unknown errors", match["unknown"], len(unknown))
    yield from differ("the distinct errors", match["every"], len(every))
    yield from differ("the share", match["share"], share_of(len(unknown), len(every)))
    yield from differ("the number of sessions", match["sessions"], len({session for session, _ in unknown}))
    yield from holds("the estimate", float(match["estimate"][:-1]) < float(match["share"][:-1]))


@says_of_finding(
    r"(?P<met>COUNT)(?: of (?P<seen>COUNT))? sessions met (?:(?P<errors>COUNT) distinct )?(?:(?P<reason>[a-z_]+) )?"
    rf"errors(?: within (?P<days>COUNT) days)?{_EXPECTED}"
)
def _more_errors(about: About, match: Match) -> Iterator[str]:
    if _is_of_hours(about, match):
        return
    days = span_of(about, match)
    errors = [e for e in about.on(*days) if match["reason"] in {None, e.reason}]
    distinct = len({(e.session, masked(e.message)) for e in errors})
    yield from differ("the number of errors", match["errors"] or match["met"], distinct)
    yield from differ("the number of sessions", match["met"], len({e.session for e in errors}))
    if match["seen"]:
        yield from differ("the number of all sessions", match["seen"], len(about.night.sessions(about.callers, days)))
    yield from estimated(about, match["expected"])


def _is_of_hours(about: About, match: Match) -> bool:
    """Whether a sentence counts the sessions of some hours: its figures are of no whole days."""
    night = about.night
    if match["errors"] or match["days"]:
        return False
    hours = {night.local(error.at).replace(tzinfo=None, minute=0, second=0) for error in about.errors}
    pairs = set()
    for end in hours:
        for length in (1, 3, 6, 12):
            begin, behind = end - timedelta(hours=length - 1), end + timedelta(hours=1)
            pairs.add(
                len({e.session for e in about.errors if begin <= night.local(e.at).replace(tzinfo=None) < behind})
            )
    seen = int((match["seen"] or match["met"]).replace(",", ""))
    return int(match["met"]) in pairs and seen <= len(night.sessions(about.callers, days_up_to(about.last, 2)))


@says_of_finding(r"; (?P<count>COUNT) errors? in all")
def _all_errors(about: About, match: Match) -> Iterator[str]:
    yield from differ("the number of errors", match["count"], len(about.inside()))


@says_of_finding(r", in (?:all|(?P<hit>COUNT) of) (?P<all>COUNT) callers?")
def _callers_hit(about: About, match: Match) -> Iterator[str]:
    hit = {e.caller for e in about.on(*days_up_to(about.last, 14))}
    yield from differ("the number of callers", match["all"], len(about.callers))
    yield from holds("the number of callers that were hit", int(match["hit"] or match["all"]) <= len(hit))


@says_of_finding(
    r"[;,] (?P<callers>COUNT) callers? (?:waited longer for retries|recovered less often|handed off more often"
    r"|compacted more often|ran out of retries|were stopped more often|got no answer)"
)
def _consequences(about: About, match: Match) -> Iterator[str]:
    yield from holds("the number of callers", 0 < int(match["callers"]) <= len(about.callers))


@says_of_finding(
    r"(?P<sessions>COUNT) sessions? met a new (?:unknown message|message, classified only tentatively as"
    r" (?P<reason>NAME))"
)
def _sessions_since(about: About, match: Match) -> Iterator[str]:
    shown = [e for e in about.errors if about.onset <= e.day <= about.last]
    yield from differ("the number of sessions", match["sessions"], len({e.session for e in shown}))
    yield from differ("the first day", about.onset, min(e.day for e in shown))
    yield from differ("the reason", match["reason"] or "unknown", shown[0].reason)


@says_of_finding(
    r"a new (?:unknown message|message, classified only tentatively as (?P<reason>NAME)); (?P<sessions>COUNT) sessions?"
    r" of (?P<callers>COUNT) callers met it since (?P<day>DATE)"
)
def _new_to_all(about: About, match: Match) -> Iterator[str]:
    shown = [e for e in about.errors if e.day <= about.last]
    yield from differ("the number of sessions", match["sessions"], len({e.session for e in shown}))
    yield from differ("the number of callers", match["callers"], len({e.caller for e in shown}))
    yield from differ("the first day", match["day"], min(e.day for e in shown))
    yield from differ("the reason", match["reason"] or "unknown", shown[0].reason)


@says_of_finding(
    r"one session met the same error (?P<times>COUNT) times(?:; (?P<more>COUNT) other sessions? did so too)?"
)
def _burst(about: About, match: Match) -> Iterator[str]:
    errors = about.on(about.last)
    counts = sorted(Counter(e.session for e in errors).values(), reverse=True)
    yield from differ("the number of times", match["times"], counts[0])
    yield from differ("the number of other sessions", match["more"] or 0, sum(count >= 30 for count in counts[1:]))


@says_of_finding(
    rf"the tool (?P<tool>NAME) failed in (?P<met>COUNT) of (?P<used>COUNT) sessions that used it{_OVER}, "
    rf"(?P<times>COUNT) times, three a session at most{_EXPECTED}"
)
def _tool(about: About, match: Match) -> Iterator[str]:
    days = span_of(about, match)
    failed = [e for e in about.night.events if e.day in days and about.failed_tool(e)]
    seen = [e for e in about.night.events if e.day in days and about.scope["caller"] in {None, e.caller}]
    used = {e.session for e in seen if match["tool"] in (e.tools or {})}
    yield from differ("the tool", match["tool"], about.scope["tool"])
    yield from differ("the number of sessions", match["met"], len({e.session for e in failed}))
    yield from differ("the number of all sessions", match["used"], len(used | {e.session for e in failed}))
    often = Counter(e.session for e in failed)
    yield from differ("the number of times", match["times"], sum(min(3, count) for count in often.values()))
    yield from estimated(about, match["expected"])


def chains_of(about: About, days: list[date]) -> list[Event]:
    """Return the chains of retries that ended on some days, of what the finding is about."""
    names = [name for name in ("caller", *SHARED) if about.scope[name]]
    chains = about.night.chains.values()
    return [e for e in chains if e.day in days and all(getattr(e, name) == about.scope[name] for name in names)]


@says_of_finding(
    r"(?P<out>COUNT) of (?P<all>COUNT) retry chains (?:ran out of tries|waited for (?P<least>COUNT) s or "
    rf"more){_OVER}{_EXPECTED}"
)
def _chains(about: About, match: Match) -> Iterator[str]:
    chains = chains_of(about, span_of(about, match))
    least = match["least"] and float(match["least"])
    out = [e for e in chains if (e.waited_seconds >= least if least else e.outcome == "exhausted")]
    yield from differ("the number of chains", match["out"], len(out))
    yield from differ("the number of all chains", match["all"], len(chains))
    yield from estimated(about, match["expected"])


@says_of_finding(
    rf"(?P<out>COUNT) of (?P<all>COUNT) sessions ended with a failure and without an answer{_OVER}{_EXPECTED}"
)
def _unanswered(about: About, match: Match) -> Iterator[str]:
    days, night = span_of(about, match), about.night
    sessions = night.sessions(about.callers, days)
    yield from differ("the number of sessions", match["out"], len(sessions & night.unanswered))
    yield from differ("the number of all sessions", match["all"], len(sessions))
    yield from estimated(about, match["expected"])


@says_of_finding(
    rf"(?P<relays>COUNT) hand-offs in step “(?P<step>NAME)”{_ON_DAY} \(normally "
    r"(?P<expected>DECIMAL), at most DECIMAL\), in (?P<sessions>COUNT) sessions?"
)
def _relays(about: About, match: Match) -> Iterator[str]:
    relays = about.relays(day_of(about, match))
    yield from differ("the number of hand-offs", match["relays"], len(relays))
    yield from differ("the step", match["step"], about.scope["step"])
    yield from differ("the number of sessions", match["sessions"], len({e.session for e in relays}))


@says_of_finding(
    r"one session handed its work to a fresh context (?P<most>COUNT)(?: of (?P<relays>COUNT))? times"
    rf" in step “(?P<step>NAME)”{_ON_DAY}"
)
def _relays_of_one(about: About, match: Match) -> Iterator[str]:
    relays = about.relays(day_of(about, match))
    yield from differ("the number of hand-offs", match["relays"] or match["most"], len(relays))
    yield from differ("the step", match["step"], about.scope["step"])
    yield from differ("the most of one session", match["most"], max(Counter(e.session for e in relays).values()))


@says_of_finding(r"[;.] (?P<halted>COUNT) of them failed")
def _given_up(about: About, match: Match) -> Iterator[str]:
    relays = {e.relay for e in about.relays(about.last)}
    halted = [e for e in about.night.events if e.kind == "relay.halted" and e.relay in relays]
    yield from differ("the number of hand-offs given up", match["halted"], len(halted))


@says_of_finding(
    r"(?:(?P<count>COUNT) sessions?|no session) (?:on (?P<day>DATE)|from (?P<begin>TIME) to (?P<end>TIME)) "
    r"\(normally (?P<expected>DECIMAL)\)"
)
def _silence(about: About, match: Match) -> Iterator[str]:
    callers = about.callers if about.scope["caller"] else {e.caller for e in about.night.events}
    if match["day"]:
        sessions = about.night.sessions(callers, [date.fromisoformat(match["day"])])
    else:
        hours = [int(match[end][:2]) for end in ("begin", "end")]
        end = datetime(about.last.year, about.last.month, about.last.day) + timedelta(hours=hours[1] or 24)
        begin = end - timedelta(hours=(hours[1] - hours[0] - 1) % 24 + 1)
        inside = [e for e in about.night.events if begin <= about.night.local(e.at).replace(tzinfo=None) < end]
        sessions = {e.session for e in inside if e.caller in callers}
    yield from differ("the number of sessions", match["count"] or 0, len(sessions))
    yield from estimated(about, match["expected"])


@says_of_finding(
    r"the mix of errors changed; the rules did not: (?P<met>COUNT) of (?P<all>COUNT) sessions met (?P<reason>NAME)"
    r" errors \(normally (?P<expected>DECIMAL)\)"
)
def _mix(about: About, match: Match) -> Iterator[str]:
    every = [e for e in about.night.errors if e.caller == about.who and about.onset <= e.day <= about.last]
    met = {error.session for error in every if error.reason == match["reason"]}
    yield from differ("the number of sessions", match["met"], len(met))
    yield from differ("the number of all sessions", match["all"], len({error.session for error in every}))


@says_of_finding(
    rf"[;,.] (?P<failed>COUNT) of (?P<seen>COUNT) sessions{_ON_DAY} failed"
    r"(?: in (?P<callers>NAME(?:, NAME)*)(?: and (?P<more>COUNT) more callers?)?)?"
    r"(?P<later>, most of them after [^.]*)?(?:\. These sessions cost \$(?P<usd>DECIMAL))?"
)
def _failed(about: About, match: Match) -> Iterator[str]:
    day = day_of(about, match)
    failed = about.night.failed(about.on(day))
    callers = sorted({error.caller for error in about.on(day) if error.session in failed})
    if match["callers"]:
        names = match["callers"].split(", ")
        yield from holds(f"that it failed at {callers}", names == callers[: len(names)])
        yield from differ("further callers", match["more"] or 0, len(callers) - len(names))
    usd = sum(usd_of(e) for e in about.night.events if e.kind == "usage.recorded" and e.session in failed)
    yield from differ("what they cost", match["usd"] or "0.00", f"{usd:.2f}")
    yield from differ("the number of failed sessions", match["failed"], len(about.night.failed(about.on(day))))
    yield from differ("the number of sessions", match["seen"], len(about.night.sessions(about.callers, [day])))
    if later := _LATER.match(match["later"] or ""):
        yield from _failed_more(about, later)


_LATER = re.compile(r", most of them after (?:(?P<day>\d{4}-\d\d-\d\d) )?(?P<time>\d\d:\d\d)")


def _failed_more(about: About, match: Match) -> Iterator[str]:
    day = date.fromisoformat(match["day"]) if match["day"] else about.last
    failed = about.night.failed(about.on(about.last))
    parts: tuple[list[bool], list[bool]] = ([], [])
    for session in about.night.sessions(about.callers, [about.last]):
        began = about.night.local(about.night.starts[session])
        parts[(began.date(), f"{began:%H:%M}") >= (day, match["time"])].append(session in failed)
    early, late = (sum(part) / max(1, len(part)) for part in parts)
    yield from holds("that more fail from that hour on", late > early)


@says_of_finding(r"[;,.] Retries waited (?P<waited>DECIMAL) (?P<unit>h|min)")
def _waited(about: About, match: Match) -> Iterator[str]:
    chains = {e.operation for e in about.on(about.last) if e.operation}
    seconds = sum(about.night.chains[chain].waited_seconds for chain in chains)
    shown = f"{seconds / 3_600:,.1f} h" if seconds >= 3_600 else f"{seconds / 60:.0f} min"
    yield from differ("the wait", f"{match['waited']} {match['unit']}", shown)


@says_of_finding(
    r"every session of (?:the callers of )?(?P<who>NAME) (?:has failed with|failed with) "
    r"(?:(?P<reason>[a-z_]+)|errors that no rule knows) (?:since|from) (?:(?P<day>DATE)(?: "
    r"|(?!\d)))?(?:(?P<time>TIME)ZONE)?(?: on)?: "
)
def _every_session(about: About, match: Match) -> Iterator[str]:
    night, day = about.night, date.fromisoformat(match["day"]) if match["day"] else about.last
    errors = [e for e in about.errors if about.last >= e.day >= day]
    moments = {(e.day, f"{night.local(e.at):%H:%M}") for e in errors if not night.recovered(e)}
    yield from differ("who", match["who"], about.who)
    yield from differ("the reason", match["reason"] or "unknown", about.reason or errors[-1].reason)
    yield from holds("a failure at that moment", (day, match["time"]) in moments)
    failed, begun = night.failed(errors), set()
    for session in night.sessions(about.callers, days_up_to(about.last, (about.last - day).days + 1)):
        began = night.local(night.starts[session])
        if (began.date(), f"{began:%H:%M}") > (day, match["time"]):
            begun.add(session)
    yield from holds("that every session since failed", begun <= failed and len(failed) >= 6)


@says_of_finding(r"[;.]? ?[Mm]ost often “(?P<text>[^”]*)”")
def _most_often(about: About, match: Match) -> Iterator[str]:
    texts: defaultdict[str, set[str]] = defaultdict(set)
    sessions: defaultdict[str, set[str]] = defaultdict(set)
    for error in about.inside():
        texts[masked(error.message)].add(error.message)
        sessions[masked(error.message)].add(error.session)
    most = max(map(len, sessions.values()), default=0)
    best = {text if len(texts[text]) > 1 else next(iter(texts[text])) for text in texts if len(sessions[text]) == most}
    yield from holds(f"that most say so ({best})", match["text"] in best)


@says_of_finding(r"(?:, |· )?since (?P<day>DATE)")
def _since(about: About, match: Match) -> Iterator[str]:
    yield from holds("something of it on that day", about.anything(date.fromisoformat(match["day"])))


@says_of_finding(r"(?P<name>NAME): ")
def _whose(about: About, match: Match) -> Iterator[str]:
    if match["name"] in about.night.names:
        yield from differ("who", match["name"], about.who)


@says_of_finding(
    r"(?P<count>COUNT) [a-z]+ up to (?P<day>DATE)\. Normal: (?P<expected>DECIMAL), rarely more than (?P<high>DECIMAL)"
)
def _note_of_chart(about: About, match: Match) -> Iterator[str]:
    yield from differ("the figure", match["count"], round(about.finding["observed"]))
    yield from differ("the day", match["day"], about.last)
    yield from estimated(about, match["expected"])


@says_of_finding(
    r"(?P<count>COUNT) repeats from (?P<day>DATE) (?P<first>TIME:\d\d) to (?P<last>TIME:\d\d) UTC(?:; other "
    r"sessions of this"
    r" caller show a message (?P<usual>COUNT) times? \(median\))?|every (?:COUNT )?(?:hours?|minutes?|seconds?)"
)
def _note_of_burst(about: About, match: Match) -> Iterator[str]:
    if not match["count"]:
        return
    own = [error for error in about.errors if error.session == about.scope["session"]]
    yield from differ("the repeats", match["count"], len(own))
    yield from differ("the day", match["day"], own[0].at.date())
    # Both ends are those of stretches, which the first and the last repeat lie in.
    first, last = (datetime.fromisoformat(f"{match['day']}T{match[end]}") for end in ("first", "last"))
    yield from holds("the begin", timedelta(0) <= own[0].at - first < timedelta(minutes=15))
    yield from holds("the end", timedelta(0) < last - own[-1].at <= timedelta(minutes=15))
    if match["usual"]:
        errors = (e for e in about.night.errors if e.caller == about.who and e.day <= about.last)
        groups = sorted(Counter((e.day, e.session, masked(e.message)) for e in errors).values())
        yield from holds("the median", groups[0] <= int(match["usual"]) <= groups[-1])


@says_of_finding(r"normal share: (?P<share>SHARE)|normal range(?:, up to (?P<high>SHARE))?")
def _legend(about: About, match: Match) -> Iterator[str]:
    for name, key in (("share", "expected"), ("high", "high")):
        if match[name]:
            yield from differ(f"the {key} share", match[name], f"{100 * about.finding[key]:.1f}%")
