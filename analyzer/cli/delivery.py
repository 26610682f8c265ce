"""What a night found is delivered: to chats, on-call services and mail. A delivery that fails costs nothing else.

`--deliver FORM:ADDRESS` has a row for each form. JSON is posted over HTTP, with the retries that users of this package
get (see docs/how-to/recovery.md); mail goes by SMTP: the server stands in $ANALYZER_SMTP, its password in
$ANALYZER_SMTP_PASSWORD.
"""

from __future__ import annotations

import json
import os
import urllib.error
import urllib.request
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, suppress
from dataclasses import dataclass, field
from hashlib import blake2b
from http.client import HTTPException
from threading import Thread
from types import MappingProxyType
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote, urlsplit

from analyzer.errors import UNREADABLE, AnalyzerError, system_text

if TYPE_CHECKING:
    from email.message import EmailMessage

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
    place: Callable[[str], str | None] = lambda address: host_of(address)
    """What of an address may be shown."""
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
    from analyzer.report.night.document import night_html, night_subject, night_text

    if told := night.news():
        mailed(address, night_subject(night), night_text(night), night_html(night))
        yield from told


def _is_web(address: str) -> bool:
    return host_of(address) is not None


def _is_pagerduty(address: str) -> bool:
    key, at, url = address.partition("@")
    return key.isalnum() and (not at or _is_web(url))


def _is_mail(address: str) -> bool:
    name, _, domain = address.rpartition("@")
    return bool(name and domain) and not set(address) & set(" \r\n,;<>")


FORMS = {
    "webhook": _Form("an http or https address", "webhook:https://…", _is_web, _chat("webhook")),
    "slack": _Form("the address of an incoming webhook", "slack:https://…", _is_web, _chat("slack")),
    "teams": _Form("the address of a workflow's webhook", "teams:https://…", _is_web, _chat("teams")),
    "discord": _Form("the address of a webhook", "discord:https://…", _is_web, _chat("discord")),
    "pagerduty": _Form(
        "the routing key of an Events API v2 integration",
        "pagerduty:R0UT1NGKEY",
        _is_pagerduty,
        _pagerduty,
        lambda address: host_of(address.partition("@")[2] or PAGERDUTY),
    ),
    "alertmanager": _Form("its address", "alertmanager:http://127.0.0.1:9093", _is_web, _alertmanager, once=False),
    "mail": _Form("one mail address", "mail:ops@example.org", _is_mail, _mail, lambda address: address),
}
"""Forms → how they are sent. What opens and what ends goes to on-call services by the finding's id."""


MAX_WAIT_SECONDS = 30.0
"""A limit that holds longer is not waited for: the nightly job is to end."""
ATTEMPT_SECONDS = 30.0
"""A call that takes longer is given up: a socket's own timeout begins anew with every byte of a slow answer."""


class UndeliveredError(Exception):
    """Its text says what the other side answered, and neither an address nor a password."""


def patiently(send: Callable[..., None], *arguments: Any) -> None:
    """Call again as the recovery table says: three calls in all where network or server fail.

    Raises:
        UndeliveredError: a limit holds too long, or a call takes too long; that one may have arrived.
        Exception: whatever the last call raised.
    """
    from analyzer.recovery import Backoff, Policy, Retry
    from analyzer.recovery.limits.guard import RateLimitedError

    policy = Policy(backoff=Backoff(base_seconds=0.5), max_wait_seconds=MAX_WAIT_SECONDS)
    try:
        # No log: what becomes of our own retries is no telemetry of anybody's agents.
        Retry("delivery", policy=policy).call(_within, send, *arguments)
    except RateLimitedError as error:
        raise UndeliveredError(type(error).__name__) from None


def _within(send: Callable[..., None], *arguments: Any) -> None:
    """One call. One that takes too long goes on by itself, and ends with the process at the latest."""
    failed: list[BaseException] = []

    def run() -> None:
        try:
            send(*arguments)
        except BaseException as error:  # noqa: BLE001 - it is raised where the call is waited for
            failed.append(error)

    thread = Thread(target=run, name="delivery", daemon=True)
    thread.start()
    thread.join(ATTEMPT_SECONDS)
    if thread.is_alive():
        raise UndeliveredError(f"no whole answer within {ATTEMPT_SECONDS:g} s")
    if failed:
        raise failed[0]


def untaken(failures: Iterable[tuple[str, str]]) -> AnalyzerError:
    """What to raise where targets took nothing: their names, and what each of them answered."""
    said = "; ".join(f"{name} did not take the result: {why}" for name, why in failures)
    hint = "the night is written down: mend what is wrong there and run the same command again"
    return AnalyzerError(said, hint, exit_code=UNREADABLE)


TIMEOUT_SECONDS = 10.0
_ANSWER_BYTES = 65_536


def post(url: str, body: Any, headers: Mapping[str, str] = MappingProxyType({})) -> bytes:
    """One POST of JSON, tried again as the recovery table says: three calls in all where network or server fail.

    Returns the beginning of the answer.

    Raises:
        UndeliveredError: nobody takes it. The address is a secret and stands in no message.
    """
    data, answers = json.dumps(body, allow_nan=False).encode(), [b""]
    try:
        patiently(_send, url, data, headers, answers)
    except (OSError, HTTPException, ValueError) as error:
        raise UndeliveredError(_message_of(error)) from None
    return answers[-1]


def host_of(url: str) -> str | None:
    """Whose web address it is; None for what is none."""
    try:
        parts = urlsplit(url)
    except ValueError:
        return None
    return parts.hostname if parts.scheme in {"http", "https"} else None


def _send(url: str, data: bytes, headers: Mapping[str, str], answers: list[bytes]) -> None:
    said = {**headers, "Content-Type": "application/json"}
    request = urllib.request.Request(url, data, said, method="POST")  # noqa: S310
    try:
        with urllib.request.build_opener(_Straight).open(request, timeout=TIMEOUT_SECONDS) as answer:
            answers.append(answer.read(_ANSWER_BYTES))
    except urllib.error.HTTPError as error:
        error.close()
        raise


class _Straight(urllib.request.HTTPRedirectHandler):
    """A redirected POST would arrive as a GET without its body, and count as taken."""

    def redirect_request(self, *_: Any, **__: Any) -> None:
        """None at all."""


def _message_of(error: Exception) -> str:
    if isinstance(error, urllib.error.HTTPError):
        return f"HTTP {error.code}"
    # The text of other errors may hold the address.
    return str(error.reason) if isinstance(error, urllib.error.URLError) else type(error).__name__


SERVER, PASSWORD = "ANALYZER_SMTP", "ANALYZER_SMTP_PASSWORD"
MAIL_SECONDS = 20.0
_PORTS = {"smtp": 587, "smtps": 465}
_EXAMPLE = f"as in {SERVER}=smtp://reports@mail.example.org:587"


@dataclass(frozen=True, slots=True)
class SmtpServer:
    """A mail server, and who sends there."""

    host: str
    port: int
    encrypted: bool
    """Whether it is from its first byte on (`smtps`); else STARTTLS is used where the server offers it."""
    user: str | None
    sender: str

    @classmethod
    def of(cls, address: str) -> SmtpServer:
        """The server that an address such as `smtp://user@host:587` names.

        Raises:
            AnalyzerError: it names none.
        """
        try:
            parts = urlsplit(address)
            host, port = parts.hostname, parts.port
        except ValueError:
            host = None
        if host is None or parts.scheme not in _PORTS:
            raise AnalyzerError(f"${SERVER} names no mail server", _EXAMPLE)
        if parts.password is not None:
            raise AnalyzerError(f"${SERVER} holds a password", f"put it into ${PASSWORD}, which no message shows")
        user = unquote(parts.username) if parts.username else None
        sender = user if user and "@" in user else f"{user or 'analyzer'}@{host}"
        return cls(host, port or _PORTS[parts.scheme], parts.scheme == "smtps", user, sender)


def server() -> SmtpServer:
    """The server of the environment.

    Raises:
        AnalyzerError: there is none, or it cannot be read.
    """
    address = os.environ.get(SERVER, "")
    if not address:
        raise AnalyzerError("mail needs a server", f"name it in ${SERVER}, {_EXAMPLE}")
    return SmtpServer.of(address)


def mailed(to: str, subject: str, text: str, page: str) -> None:
    """One mail with a text and an HTML part, tried again where network or server fail.

    Raises:
        UndeliveredError: the server does not take it.
        AnalyzerError: there is no server.
    """
    import smtplib
    from email.message import EmailMessage
    from email.utils import formatdate, make_msgid

    through = server()
    message = EmailMessage()
    message["Subject"] = " ".join(subject.split())
    message["From"], message["To"] = through.sender, to
    message["Date"], message["Message-ID"] = formatdate(), make_msgid(domain=through.host)
    message.set_content(text)
    message.add_alternative(page, subtype="html")
    try:
        patiently(_hand_over, through, message)
    except smtplib.SMTPResponseException as error:
        raise UndeliveredError(f"SMTP {error.smtp_code}") from None
    except smtplib.SMTPRecipientsRefused as error:
        codes = sorted({code for code, _ in error.recipients.values()})
        raise UndeliveredError(f"SMTP {', '.join(map(str, codes))}: the recipient was refused") from None
    except OSError as error:
        raise UndeliveredError(system_text(error)) from None


def _hand_over(through: SmtpServer, message: EmailMessage) -> None:
    import smtplib
    import ssl

    password = os.environ.get(PASSWORD, "")
    context = ssl.create_default_context()
    if through.encrypted:
        client: smtplib.SMTP = smtplib.SMTP_SSL(through.host, through.port, timeout=MAIL_SECONDS, context=context)
    else:
        client = smtplib.SMTP(through.host, through.port, timeout=MAIL_SECONDS)
    try:
        client.ehlo()
        if not through.encrypted and client.has_extn("starttls"):
            client.starttls(context=context)
            client.ehlo()
        elif not through.encrypted and password:
            raise UndeliveredError("the server offers no encryption, and the password is not sent without")
        if through.user and password:
            client.login(through.user, password)
        client.send_message(message)
    finally:
        with suppress(OSError, smtplib.SMTPException):
            client.quit()
