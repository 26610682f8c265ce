"""Commands that take a secret behind a flag whose name does not say so: one row a kind of flag."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from analyzer.redaction.automata import Late, regex
from analyzer.redaction.values import MARK, is_password, value_at


class _Flags(NamedTuple):
    """What some commands call it."""

    commands: tuple[str, ...]
    flags: str
    """RE2: the flag, with what may stand between it and its value."""
    behind: bytes = b""
    """What the secret stands behind: user and password are one value. Empty: all of it is secret."""


_THEN = r"(?:\s+|[\"'],?\s*|=|,\s*)"

_TABLE = (
    _Flags(("curl", "wget"), rf"(?:-[uU](?:{_THEN})?|--(?:proxy-)?user{_THEN})", b":"),
    _Flags(("http", "https", "xh", "httpie"), rf"(?:-a|--auth){_THEN}", b":"),
    _Flags(("smbclient", "rpcclient", "net"), rf"(?:-U|--user){_THEN}", b"%"),
    _Flags(("sshpass",), rf"-p(?:{_THEN})?"),
    _Flags(("mysql", "mysqldump", "mysqladmin", "mysqlimport", "mariadb", "mariadb-dump", "7z", "7za"), r"-p"),
    _Flags(("redis-cli",), rf"(?:-a|--pass){_THEN}"),
    _Flags(
        ("docker", "podman", "helm", "oc", "az", "skopeo", "buildah", "crane", "mongo", "mongosh", "mongodump",
         "mongorestore", "mongoexport", "mongoimport", "cf", "ansible-vault"),
        rf"-p{_THEN}",
    ),
    _Flags(("sqlcmd", "bcp", "zip", "unzip"), rf"-P{_THEN}"),
    _Flags(("ldapsearch", "ldapadd", "ldapmodify", "ldapdelete", "ldapwhoami", "ldappasswd"), rf"-w{_THEN}"),
    _Flags(("openssl",), r"(?:-pass|-passin|-passout|-k)(?:\s+|[\"'],?\s*[\"'])(?:pass:)?"),
)  # fmt: skip
_OF = {command: row for row in _TABLE for command in row.commands}
NAMES = tuple(_OF)
COMMANDS = tuple(sorted((name.replace("-", r"\-") for name in _OF), key=len, reverse=True))
"""RE2 for each name."""
FLAG_TRACE = (
    r"(?:^|[\s\"',\[(]|\\[nrt])-(?:-user|-proxy-user|-auth|-pass|-?pass(?:in|out)?|[uUapPwk])[^\s\-]*[\s\"',=\\]+[^\s\"',=\-\\]"
    r"|(?:^|[\s\"',\[(]|\\[nrt])-[uU][^\s\"':\-]+:"
    r"|\<(?:sshpass|7za?|m(?:ysql|aria)[a-z\-]*)[^\n]*?(?:[\s\"',\[]|\\[nrt])-p"
)
_PORTS = Late(rb"[0-9.:\-]{1,60}(?:/[a-z]{1,10})?")
_LINE = 1_000
"""Bytes behind a command that are its arguments."""


def command_spans(data: bytes, at: int, command: bytes) -> Iterator[tuple[int, int]]:
    """The secrets in the arguments of a command that stand here."""
    row = _OF[command.decode("ascii")]
    line = regex(r"[^\r\n|;]*").match(data, at, min(len(data), at + _LINE))
    if line is None:
        return
    for found in regex(rf"(?:^|[\s\"'(\[,])[\"']?({row.flags})").finditer(line.group()):
        begins = at + found.end()
        span = value_at(data, begins)
        if span is None or data.startswith(b"-", span.start):
            continue
        if row.behind and data.startswith(row.behind, span.end):  # `app:'x'`, `"app":"x"`
            span = value_at(data, span.end + 1)
            if span is not None and is_password(data[span.start : span.stop]):
                yield span.start, span.stop
            continue
        secret = secret_in(data[span.start : span.stop], row.behind)
        if secret is not None:
            yield span.start + secret, span.stop


def secret_in(value: bytes, behind: bytes) -> int | None:
    """Where the secret in a value begins; None where there is none, or a port."""
    start = value.find(behind) + len(behind) if behind else 0
    if behind and start < len(behind):
        return None
    secret = value[start:]
    if secret.startswith((MARK, b"//")) or (not behind and b":" in secret and _PORTS.fullmatch(secret) is not None):
        return None
    return start if is_password(secret) else None


def flag_of(command: str, flag: str) -> bytes | None:
    """What a secret stands behind in the argument that follows this flag of this command; None for any other flag.

    An empty flag asks whether there is such a command at all.
    """
    row = _OF.get(command.rsplit("/", 1)[-1])
    if row is None:
        return None
    if flag and regex(row.flags).fullmatch(f"{flag} ".encode("utf-8", "replace")) is None:
        return None
    return row.behind


def attached_to(command: str, argument: bytes) -> int | None:
    """Where the secret begins in an argument that is flag and value in one, as `-phunter2x` of mysql."""
    row = _OF.get(command.rsplit("/", 1)[-1])
    found = regex(row.flags).match(argument) if row is not None else None
    if row is None or found is None or argument[found.end() :].startswith(b"-"):
        return None
    secret = secret_in(argument[found.end() :], row.behind)
    return None if secret is None else found.end() + secret
