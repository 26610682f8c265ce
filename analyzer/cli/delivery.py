"""Deliver the findings of a night to chats, on-call services and mail.

A failed delivery does not stop the others. `FORMS` has a row for each form of `--deliver
FORM:ADDRESS`. JSON is posted over HTTP, with the retries that users of this package get (see
docs/how-to/recovery.md). Mail goes by SMTP: the server is in $ANALYZER_SMTP, its password in
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
from analyzer.frozen import frozen

if TYPE_CHECKING:
    from email.message import EmailMessage

    from analyzer.analysis import Finding, Night
    from analyzer.analysis.nightly.decisions import Undelivered
    from analyzer.store import Store

VARIABLE = "ANALYZER_DELIVER"
"""Holds targets, with spaces between; so they are not in the list of processes."""
PAGERDUTY = "https://events.pagerduty.com/v2/enqueue"


@dataclass(slots=True)
class Delivery:
    """The outcome of the delivery to one target."""

    target: Target
    taken: list[Finding] = field(default_factory=list)
    """The findings that the target took; it may have taken some before it failed."""
    failure: str | None = None
    """The answer of the other side, if it refused."""


@frozen
class Target:
    """An address to deliver to, and its form."""

    form: str
    address: str

    @classmethod
    def of(cls, name: str) -> Target:
        """Read a target such as `slack:https://…`; a bare address is a `webhook`.

        Raises:
            AnalyzerError: no such form, or no address in it. No message holds the address, which is
                a secret.
        """
        form, mark, address = name.partition(":")
        if form in {"http", "https"}:
            form, address = "webhook", name
        if form not in FORMS or not mark:
            raise AnalyzerError.unknown_value("form of delivery", form if mark else "(none)", FORMS)
        if not FORMS[form].accepts(address):
            raise AnalyzerError(f"--deliver {form}: takes {FORMS[form].takes}", f"as in {FORMS[form].example}")
        return cls(form, address)

    @property
    def name(self) -> str:
        """The form and the host of the target, which may be shown."""
        return f"{self.form} at {FORMS[self.form].place(self.address)}"

    @property
    def key(self) -> str:
        """The hash that names the target where deliveries are recorded.

        The address cannot be read from it.
        """
        return blake2b(f"{self.form}:{self.address}".encode(), digest_size=16).hexdigest()


def read_targets(names: Iterable[str]) -> list[Target]:
    """Read the targets of the command line.

    Raises:
        AnalyzerError: one of them cannot be read.
    """
    targets = [Target.of(name) for name in names]
    if any(target.form == "mail" for target in targets):
        mail_server()  # a missing one is refused before the night's work, not after it
    return targets


def deliver(
    undelivered: Undelivered, targets: Sequence[Target], open_store: Callable[[], AbstractContextManager[Store]]
) -> list[str]:
    """Send to each target the findings of a night that it did not take before.

    Returns the names of the targets that took any. A target that fails does not stop the others.
    Deliveries are recorded in the store that `open_store` opens, also after an interrupt.

    Raises:
        AnalyzerError: a target refused, or the deliveries could not be recorded.
    """
    deliveries: list[Delivery] = []
    try:
        for target in targets:
            delivery = Delivery(target)
            deliveries.append(delivery)
            form = FORMS[target.form]
            night = undelivered.to(target.key) if form.once else undelivered.night
            try:
                for finding in form.send(target.address, night):
                    delivery.taken.append(finding)
            except UndeliveredError as error:
                delivery.failure = str(error)
    finally:
        once = [delivery for delivery in deliveries if FORMS[delivery.target.form].once]
        recorded = [(delivery.target.key, finding) for delivery in once for finding in delivery.taken]
        try:
            if recorded:
                with open_store() as store:
                    undelivered.write_down(store, recorded)
        except AnalyzerError as error:
            names = ", ".join(delivery.target.name for delivery in deliveries if delivery.taken)
            message = f"told {names}, which could not be written down: {error.message}"
            raise AnalyzerError(message, error.hint, exit_code=error.exit_code) from None
    if failures := [(delivery.target.name, delivery.failure) for delivery in deliveries if delivery.failure]:
        raise not_delivered(failures)
    return [delivery.target.name for delivery in deliveries if delivery.taken]


@frozen
class _Form:
    """A form of `--deliver`: what it takes, and how it is sent."""

    takes: str
    example: str
    accepts: Callable[[str], bool]
    send: Callable[[str, Night], Iterable[Finding]]
    """Yields the findings of the message, after the other side took it.

    Raises:
        UndeliveredError: the other side did not take it.
    """
    place: Callable[[str], str | None] = lambda address: host_of(address)
    """Returns the part of an address that may be shown."""
    once: bool = True
    """True if a finding is sent once; False if the other side wants it again every night."""


def _chat(form: str) -> Callable[[str, Night], Iterator[Finding]]:
    """Return the function that posts what is new, worse or resolved, in the form of one chat."""

    def send(address: str, night: Night) -> Iterator[Finding]:
        from analyzer.report.night.messages import chat_message

        if news := night.news():
            post(address, chat_message(form, night))
            yield from news

    return send


def _pagerduty(address: str, night: Night) -> Iterator[Finding]:
    from analyzer.report.night.messages import pagerduty_events

    key, _, url = address.partition("@")
    for finding, event in pagerduty_events(night, key):
        post(url or PAGERDUTY, event)
        yield finding


def _alertmanager(address: str, night: Night) -> Iterator[Finding]:
    from analyzer.report.night.messages import alertmanager_alerts

    if alerts := alertmanager_alerts(night):
        post(f"{address.rstrip('/')}/api/v2/alerts", alerts)
        yield from night.findings


def _mail(address: str, night: Night) -> Iterator[Finding]:
    from analyzer.report.night.document import night_document, night_subject
    from analyzer.report.writers.mail import to_mail
    from analyzer.report.writers.text import to_text

    if news := night.news():
        document = night_document(night)
        send_mail(address, night_subject(night), to_text(document, _MAIL_WIDTH), to_mail(document))
        yield from news


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
"""Forms → how they are sent. On-call services open and resolve an incident by the finding's id."""


MAX_WAIT_SECONDS = 30.0
"""A rate limit that holds longer is not waited for, because the nightly job must end."""
ATTEMPT_SECONDS = 30.0
"""A longer call is given up: a socket's own timeout starts again with every byte of an answer."""


class UndeliveredError(Exception):
    """A refused delivery. Its text is the answer of the other side, without address or password."""


def _call_with_retries(send: Callable[..., None], *arguments: Any) -> None:
    """Call `send` at most three times, with retries as the recovery table says.

    Raises:
        UndeliveredError: a limit holds too long, or a call takes too long; that call may have
            arrived.
        Exception: the error of the last call.
    """
    from analyzer.recovery import Backoff, Policy, Retry
    from analyzer.recovery.limits.guard import RateLimitedError

    policy = Policy(backoff=Backoff(base_seconds=0.5), max_wait_seconds=MAX_WAIT_SECONDS)
    try:
        # No log: our own retries are not telemetry of an agent.
        Retry("delivery", policy=policy).call(_call_in_time, send, *arguments)
    except RateLimitedError as error:
        raise UndeliveredError(type(error).__name__) from None


def _call_in_time(send: Callable[..., None], *arguments: Any) -> None:
    """Call `send` in a thread for at most `ATTEMPT_SECONDS`.

    A longer call is left to itself, and ends with the process at the latest.

    Raises:
        UndeliveredError: the call takes too long.
        Exception: the error of the call.
    """
    errors: list[BaseException] = []

    def run() -> None:
        try:
            send(*arguments)
        except BaseException as error:  # noqa: BLE001 - it is raised where the call is waited for
            errors.append(error)

    thread = Thread(target=run, name="delivery", daemon=True)
    thread.start()
    thread.join(ATTEMPT_SECONDS)
    if thread.is_alive():
        raise UndeliveredError(f"no whole answer within {ATTEMPT_SECONDS:g} s")
    if errors:
        raise errors[0]


def not_delivered(failures: Iterable[tuple[str, str]]) -> AnalyzerError:
    """Build the error for targets that refused, from their names and answers."""
    message = "; ".join(f"{name} did not take the result: {why}" for name, why in failures)
    hint = "the night is written down: mend what is wrong there and run the same command again"
    return AnalyzerError(message, hint, exit_code=UNREADABLE)


TIMEOUT_SECONDS = 10.0
_ANSWER_BYTES = 65_536


def post(url: str, body: Any, headers: Mapping[str, str] = MappingProxyType({})) -> bytes:
    """POST a body as JSON at most three times, with retries as the recovery table says.

    Returns the first `_ANSWER_BYTES` of the answer.

    Raises:
        UndeliveredError: the other side does not take it. No message holds the address, which is a
            secret.
    """
    data, answers = json.dumps(body, allow_nan=False).encode(), [b""]
    try:
        _call_with_retries(_send, url, data, headers, answers)
    except (OSError, HTTPException, ValueError) as error:
        raise UndeliveredError(_message_of(error)) from None
    return answers[-1]


def host_of(url: str) -> str | None:
    """Return the host of a web address; None if it is not an http or https address."""
    try:
        parts = urlsplit(url)
    except ValueError:
        return None
    return parts.hostname if parts.scheme in {"http", "https"} else None


def _send(url: str, data: bytes, headers: Mapping[str, str], answers: list[bytes]) -> None:
    headers = {**headers, "Content-Type": "application/json"}
    request = urllib.request.Request(url, data, headers, method="POST")  # noqa: S310
    try:
        with urllib.request.build_opener(_NoRedirects).open(request, timeout=TIMEOUT_SECONDS) as answer:
            answers.append(answer.read(_ANSWER_BYTES))
    except urllib.error.HTTPError as error:
        error.close()
        raise


class _NoRedirects(urllib.request.HTTPRedirectHandler):
    """Refuses redirects: a POST would arrive as a GET without its body, and count as taken."""

    def redirect_request(self, *_: Any, **__: Any) -> None:
        """Follow no redirect."""


def _message_of(error: Exception) -> str:
    if isinstance(error, urllib.error.HTTPError):
        return f"HTTP {error.code}"
    # The text of other errors may hold the address.
    return str(error.reason) if isinstance(error, urllib.error.URLError) else type(error).__name__


SERVER, PASSWORD = "ANALYZER_SMTP", "ANALYZER_SMTP_PASSWORD"
_MAIL_WIDTH = 78
"""The cells of a line of the text of a mail."""
MAIL_SECONDS = 20.0
_PORTS = {"smtp": 587, "smtps": 465}
_EXAMPLE = f"as in {SERVER}=smtp://reports@mail.example.org:587"


@frozen
class SmtpServer:
    """A mail server, and the sender."""

    host: str
    port: int
    encrypted: bool
    """True if the connection is encrypted from its first byte on (`smtps`).

    False means STARTTLS, if the server offers it.
    """
    user: str | None
    sender: str

    @classmethod
    def of(cls, address: str) -> SmtpServer:
        """Read a server from an address such as `smtp://user@host:587`.

        Raises:
            AnalyzerError: the address names no server, or holds a password.
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


def mail_server() -> SmtpServer:
    """Read the mail server of `$ANALYZER_SMTP`.

    Raises:
        AnalyzerError: none is named, or its address cannot be read.
    """
    address = os.environ.get(SERVER, "")
    if not address:
        raise AnalyzerError("mail needs a server", f"name it in ${SERVER}, {_EXAMPLE}")
    return SmtpServer.of(address)


def send_mail(to: str, subject: str, text: str, page: str) -> None:
    """Send a mail with a text and an HTML part, with retries if network or server fail.

    Raises:
        UndeliveredError: the server does not take it.
        AnalyzerError: there is no server.
    """
    import smtplib
    from email.message import EmailMessage
    from email.utils import formatdate, make_msgid

    server = mail_server()
    message = EmailMessage()
    message["Subject"] = " ".join(subject.split())
    message["From"], message["To"] = server.sender, to
    message["Date"], message["Message-ID"] = formatdate(), make_msgid(domain=server.host)
    message.set_content(text)
    message.add_alternative(page, subtype="html")
    try:
        _call_with_retries(_send_message, server, message)
    except smtplib.SMTPResponseException as error:
        raise UndeliveredError(f"SMTP {error.smtp_code}") from None
    except smtplib.SMTPRecipientsRefused as error:
        codes = sorted({code for code, _ in error.recipients.values()})
        raise UndeliveredError(f"SMTP {', '.join(map(str, codes))}: the recipient was refused") from None
    except OSError as error:
        raise UndeliveredError(system_text(error)) from None


def _send_message(server: SmtpServer, message: EmailMessage) -> None:
    import smtplib
    import ssl

    password = os.environ.get(PASSWORD, "")
    context = ssl.create_default_context()
    if server.encrypted:
        client: smtplib.SMTP = smtplib.SMTP_SSL(server.host, server.port, timeout=MAIL_SECONDS, context=context)
    else:
        client = smtplib.SMTP(server.host, server.port, timeout=MAIL_SECONDS)
    try:
        client.ehlo()
        if not server.encrypted and client.has_extn("starttls"):
            client.starttls(context=context)
            client.ehlo()
        elif not server.encrypted and password:
            raise UndeliveredError("the server offers no encryption, and the password is not sent without")
        if server.user and password:
            client.login(server.user, password)
        client.send_message(message)
    finally:
        with suppress(OSError, smtplib.SMTPException):
            client.quit()
