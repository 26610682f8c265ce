"""Where a night is delivered to: `--deliver FORM:ADDRESS`, a row for each form."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from hashlib import blake2b
from typing import TYPE_CHECKING

from analyzer.cli.delivery.web import UndeliveredError, host_of, post, untaken
from analyzer.errors import AnalyzerError

if TYPE_CHECKING:
    from analyzer.analysis import Finding, Night
    from analyzer.analysis.nightly.decisions import Undelivered
    from analyzer.store import Store

VARIABLE = "ANALYZER_DELIVER"
"""Targets between spaces, for whoever keeps them out of the list of processes."""
PAGERDUTY = "https://events.pagerduty.com/v2/enqueue"


@dataclass(slots=True)
class Delivery:
    """What became of one target."""

    target: Target
    made: list[Finding] = field(default_factory=list)
    """The findings that it took; it may have taken some before it failed."""
    failure: str | None = None
    """What the other side answered."""


@dataclass(frozen=True, slots=True)
class Target:
    """One place to deliver to."""

    form: str
    address: str

    @classmethod
    def of(cls, said: str) -> Target:
        """The target that `slack:https://…` and its like name; a bare address is a `webhook`.

        Raises:
            AnalyzerError: no such form, or no address in it. The address is a secret and stands in no message.
        """
        form, mark, address = said.partition(":")
        if form in {"http", "https"}:
            form, address = "webhook", said
        if form not in FORMS or not mark:
            raise AnalyzerError.unknown_value("form of delivery", form if mark else "(none)", FORMS)
        if not FORMS[form].accepts(address):
            raise AnalyzerError(f"--deliver {form}: takes {FORMS[form].takes}", f"as in {FORMS[form].example}")
        return cls(form, address)

    @property
    def name(self) -> str:
        """Its form and its host, which may be shown."""
        return f"{self.form} at {FORMS[self.form].place(self.address)}"

    @property
    def key(self) -> str:
        """What it is known by where deliveries are written down, which its address cannot be read from."""
        return blake2b(f"{self.form}:{self.address}".encode(), digest_size=16).hexdigest()


def targets(named: Iterable[str]) -> list[Target]:
    """The targets of the command line.

    Raises:
        AnalyzerError: one of them cannot be read.
    """
    found = [Target.of(said) for said in named]
    if any(target.form == "mail" for target in found):
        from analyzer.cli.delivery.mail import server

        server()  # says that there is none before the night's work, not after it
    return found


def deliver(
    left: Undelivered, places: Sequence[Target], opened: Callable[[], AbstractContextManager[Store]]
) -> list[str]:
    """Tell targets of a night what they do not know of it; the names of those that were told anything.

    One that fails costs the others nothing. What was told is written down in the store that `opened` gives, also where
    somebody interrupts.

    Raises:
        AnalyzerError: some did not take it, or what was told could not be written down.
    """
    done: list[Delivery] = []
    try:
        for place in places:
            done.append(Delivery(place))
            form = FORMS[place.form]
            try:
                for one in form.send(place.address, left.to(place.key) if form.once else left.night):
                    done[-1].made.append(one)
            except UndeliveredError as error:
                done[-1].failure = str(error)
    finally:
        made = [(one.target.key, found) for one in done if FORMS[one.target.form].once for found in one.made]
        try:
            if made:
                with opened() as store:
                    left.write_down(store, made)
        except AnalyzerError as error:
            names = ", ".join(one.target.name for one in done if one.made)
            message = f"told {names}, which could not be written down: {error.message}"
            raise AnalyzerError(message, error.hint, exit_code=error.exit_code) from None
    if failures := [(one.target.name, one.failure) for one in done if one.failure]:
        raise untaken(failures)
    return [one.target.name for one in done if one.made]


@dataclass(frozen=True, slots=True)
class _Form:
    """What there is to say about one form."""

    takes: str
    example: str
    accepts: Callable[[str], bool]
    send: Callable[[str, Night], Iterable[Finding]]
    """Gives the findings that there were to tell, each once it was taken.

    Raises:
        UndeliveredError: it was not taken.
    """
    place: Callable[[str], str]
    once: bool = True
    """Whether a finding is told once; else the other side wants to hear of it again."""


def _chat(form: str) -> Callable[[str, Night], Iterator[Finding]]:
    """Posts what is new, worse or resolved, in the form of one chat."""

    def send(address: str, night: Night) -> Iterator[Finding]:
        from analyzer.report.night.messages import CHATS

        if told := night.news():
            post(address, CHATS[form](night))
            yield from told

    return send


def _pagerduty(address: str, night: Night) -> Iterator[Finding]:
    from analyzer.report.night.messages import pagerduty_events

    key, _, url = address.partition("@")
    for one, event in pagerduty_events(night, key):
        post(url or PAGERDUTY, event)
        yield one


def _alertmanager(address: str, night: Night) -> Iterator[Finding]:
    from analyzer.report.night.messages import alertmanager_alerts

    if alerts := alertmanager_alerts(night):
        post(f"{address.rstrip('/')}/api/v2/alerts", alerts)
        yield from night.findings


def _mail(address: str, night: Night) -> Iterator[Finding]:
    from analyzer.cli.delivery.mail import send
    from analyzer.report.night.document import night_html, night_subject, night_text

    if told := night.news():
        send(address, night_subject(night), night_text(night), night_html(night))
        yield from told


def _is_web(address: str) -> bool:
    return host_of(address) is not None


def _is_pagerduty(address: str) -> bool:
    key, at, url = address.partition("@")
    return key.isalnum() and (not at or _is_web(url))


def _is_mail(address: str) -> bool:
    name, _, domain = address.rpartition("@")
    return bool(name and domain) and not set(address) & set(" \r\n,;<>")


def _web_host(address: str) -> str:
    return host_of(address) or ""


FORMS = {
    "webhook": _Form("an http or https address", "webhook:https://…", _is_web, _chat("webhook"), _web_host),
    "slack": _Form("the address of an incoming webhook", "slack:https://…", _is_web, _chat("slack"), _web_host),
    "teams": _Form("the address of a workflow's webhook", "teams:https://…", _is_web, _chat("teams"), _web_host),
    "discord": _Form("the address of a webhook", "discord:https://…", _is_web, _chat("discord"), _web_host),
    "pagerduty": _Form(
        "the routing key of an Events API v2 integration",
        "pagerduty:R0UT1NGKEY",
        _is_pagerduty,
        _pagerduty,
        lambda address: host_of(address.partition("@")[2] or PAGERDUTY) or "",
    ),
    "alertmanager": _Form(
        "its address", "alertmanager:http://127.0.0.1:9093", _is_web, _alertmanager, _web_host, once=False
    ),
    "mail": _Form("one mail address", "mail:ops@example.org", _is_mail, _mail, lambda address: address),
}
"""Forms → how they are sent. What opens and what ends goes to on-call services by the finding's id."""
