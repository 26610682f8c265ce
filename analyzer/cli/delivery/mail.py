"""A night is mailed by SMTP: the server stands in $ANALYZER_SMTP, its password in $ANALYZER_SMTP_PASSWORD."""

from __future__ import annotations

import os
import smtplib
import ssl
from contextlib import suppress
from dataclasses import dataclass
from email.message import EmailMessage
from email.utils import formatdate, make_msgid
from urllib.parse import unquote, urlsplit

from analyzer.cli.delivery.web import UndeliveredError, patiently
from analyzer.errors import AnalyzerError, system_text

SERVER, PASSWORD = "ANALYZER_SMTP", "ANALYZER_SMTP_PASSWORD"
TIMEOUT_SECONDS = 20.0
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


def send(to: str, subject: str, text: str, page: str) -> None:
    """One mail with a text and an HTML part, tried again where network or server fail.

    Raises:
        UndeliveredError: the server does not take it.
        AnalyzerError: there is no server.
    """
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
    password = os.environ.get(PASSWORD, "")
    context = ssl.create_default_context()
    if through.encrypted:
        client: smtplib.SMTP = smtplib.SMTP_SSL(through.host, through.port, timeout=TIMEOUT_SECONDS, context=context)
    else:
        client = smtplib.SMTP(through.host, through.port, timeout=TIMEOUT_SECONDS)
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
