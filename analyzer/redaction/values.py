"""Where the value behind a secret's name begins and ends in a text, and whether it is one.

Invariant: a value is looked at once and in bounds; what is no secret (words, numbers, limits, references to a variable,
complaints about a field) is told by the value alone, so that the answer does not depend on where it stands.

Commands that take a secret behind a flag whose name does not say so are a table, one row a kind of flag.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterator
from typing import NamedTuple

from analyzer.redaction.automata import LazyPattern, regex
from analyzer.redaction.unfolding import FOLDED

MARK = b"[REDACTED:"
MARKED = LazyPattern(rb"\[REDACTED:[a-z_]+:[0-9a-f]{8}\]")
_LONGEST = 8_192
"""Bytes that are searched for the end of a value."""
_MAX_CLOSERS = 16
_MAX_BACKSLASHES = 64
_ENTROPY_BITS = 4.5
_MIN_RANDOM = 24

# These look at some bytes behind a name, each of them once, and are quicker there than RE2 is to call.
# Three characters are no secret, and many texts have nothing but them behind a name.
_NOTHING = LazyPattern(rb"[^\s\"'`\\\[({&%\x1b]{0,3}(?:\s|\Z)")
# What may stand before a value: brackets of a list, a wrapper's name, a prefix of Python's.
_OPENING = LazyPattern(
    rb"\[REDACTED:[a-z_]+:[0-9a-f]{8}\]|(?:[\[({]\s{0,8})?(?:[&*]?[A-Za-z_][A-Za-z0-9_.:]{0,24}\((?:[a-z_]{1,20}=)?)?"
    rb"(?:[bBrRuUfFnNeExX]{0,2}|[uU]&)(\"\"\"|'''|[\"'`])|(\$[A-Za-z_]{0,20}\$)"
)
NUMBERED = r"(?:[ \t]{0,8}[0-9]{1,7}\s?(?:\xe2\x86\x92|[:|\t]))?"
"""RE2: the number of a line that is shown."""
HERE = rf"(?:<<[~\-]?\s{{0,2}}[\"'\\]?[A-Za-z_]{{1,20}}[^\n]{{0,60}}\r?\n{NUMBERED}[ \t]{{0,40}}|<<<\s{{0,4}})"
"""RE2: before a text of a shell that ends with a word, or with the line."""
_INDENT = rf"{NUMBERED}[ \t]{{1,40}}"
DRESS = "(?:{})*".format(
    "|".join(
        (
            # YAML: a tag, an anchor, the head of a block
            r"!{1,2}[A-Za-z<][A-Za-z0-9_.,:/<>\-]{0,60}[ \t]{1,4}",
            r"&[A-Za-z][A-Za-z0-9_\-]{0,40}[ \t]{1,4}",
            rf"[|>][0-9+\-]{{0,2}}[ \t]{{0,8}}(?:#[^\n]{{0,100}})?(?:\r?\n[ \t]{{0,40}}){{0,3}}\r?\n{_INDENT}",
            # A comment
            r"<!--[^<>]{0,100}-->\s{0,40}",
            r"/\*[^*\n]{0,100}\*/\s{0,8}",
            rf"(?:[\"']?\$\(\s{{0,2}}cat\s{{1,2}})?{HERE}",
            # XML: a text in which nothing is escaped
            r"<!\[CDATA\[\s{0,8}",
            # PHP: how long a text is
            r"(?:s:[0-9]{1,6}:|string\([0-9]{1,6}\)\s)",
            # OTLP: what kind of value it is
            r"\{\s{0,8}[\"'](?:[a-z]{3,6}_?[vV]alue|values)[\"']\s{0,4}:\s{0,8}(?:\[\s{0,8})?",
            r"\{\s{0,8}[\"']key[\"']\s{0,4}:\s{0,4}[\"'][^\"'\n]{0,60}[\"']\s{0,4},\s{0,8}[\"']value[\"']\s{0,4}:\s{0,8}",
        )
    )
)
"""RE2: what says how a value is written, and stands before it."""
REFERRED = LazyPattern(rb"!(?:Ref|GetAtt|Sub|ImportValue|Join|FindInMap|vault|secret|env|include|file|reference)\b")
"""Tags of YAML whose value is the name of another one, or encrypted."""
CURLY = r"(?:\xe2\x80[\x98-\x9f]|\xc2[\xab\xbb]|\xe3\x80[\x8c-\x8f])"
"""A quotation mark as people write it."""
_CURLY = LazyPattern(b"%s\\s{0,2}([^\\r\\n]{1,400}?)\\s{0,2}(?:%s|$)" % ((CURLY.encode(),) * 2))
# Without quotes a value ends with white space; a backslash is a part of it unless it is an escape.
_BARE = LazyPattern(rb"(?:[^\s\"'`\\\x00\x1b]|\\[^nrtbfu\"'`\\\s])+")
_LINE = LazyPattern(rb"[^\r\n\"'`\\]*(?:\\[^rn][^\r\n\"'`\\]*)*")
# What may stand before an escape, behind which a value goes on.
_WRAPPER = LazyPattern(rb"(?:[A-Za-z0-9_.:]{0,25}[\[({])?")
_LINE_END = LazyPattern(rb"[\r\n]")
_PARAMETER = LazyPattern(rb"[&#]")
# What follows is another member or parameter.
_NEXT = LazyPattern(
    rb"<[/A-Za-z]|>(?:\Z|<)|&(?:quot|apos|#)|%2[267]|\)[,;)]|[&#][^&=\s]{0,60}="
    rb"|[,;&](?:\Z|[A-Za-z_][A-Za-z0-9_.\-]{0,60}[=:\"']|[\"'\[{(])"
)
_COMMA = LazyPattern(rb"\s{0,8}(?:\}\s{0,8},\s{0,8}\{\s{0,8}[\"'][a-z]{3,6}_?[vV]alue[\"']\s{0,4}:|,)\s{0,8}")
_CLOSERS = {b")": b"(", b"]": b"[", b"}": b"{"}


class Span(NamedTuple):
    """A value in a text."""

    start: int
    stop: int
    quoted: bool
    end: int
    """Behind its closing quote."""


def value_at(data: bytes, at: int, *, line: bool = False, query: bool = False) -> Span | None:
    """Return the value that begins here; with `line`, a value without quotes is the rest of the line.

    With `query` it is a parameter of a URL.
    """
    opening = _OPENING.match(data, at)
    if opening is not None and opening.group(2) is not None:
        stop = data.find(opening.group(2), opening.end(), opening.end() + _LONGEST)
        if stop >= 0:  # a text of SQL, whose quotes are words between dollars
            return Span(opening.end(), stop, True, stop + len(opening.group(2)))
    elif opening is not None:
        if opening.group(1) is None:
            return Span(at, opening.end(), False, opening.end())
        return _quoted(data, opening.end(), opening.group(1))
    curly = _CURLY.match(data, at)
    if curly is not None:
        return Span(curly.start(1), curly.end(1), True, curly.end())
    bare = (_LINE if line else _BARE).match(data, at, at + _LONGEST)
    # What begins with an escape, or has one behind a bracket, is read in the form in which this is none.
    if bare is None or FOLDED.match(data, _WRAPPER.match(data, at).end()) is not None:
        return None
    stop = bare.end()
    if not line:
        following = (_PARAMETER if query else _NEXT).search(data, at, stop)
        stop = at + len(_trimmed(data[at : stop if following is None else following.start()]))
    return Span(at, stop, False, stop) if stop > at else None


def nothing_at(data: bytes, at: int) -> bool:
    """Return true if the value that begins here is too short for a secret, and has no quotes around it."""
    return _NOTHING.match(data, at) is not None


def _quoted(data: bytes, start: int, quote: bytes) -> Span:
    """Return the value up to the same quote without a backslash before it."""
    stop = min(len(data), start + _LONGEST)
    at = data.find(quote, start, stop)
    while at >= 0:
        before = data[max(start, at - _MAX_BACKSLASHES) : at]
        if (len(before) - len(before.rstrip(b"\\"))) % 2:
            at = data.find(quote, at + 1, stop)
        elif at > start and _DOUBLED.match(data, at) is not None:
            at = data.find(quote, at + 2, stop)
        else:
            return Span(start, at, True, at + len(quote))
    # It breaks off, or is no quote but an apostrophe.
    ending = _LINE_END.search(data, start, stop)
    stop = stop if ending is None else ending.start()
    return Span(start, stop, True, stop)


_DOUBLED = LazyPattern(rb"(?:''|\"\")[A-Za-z0-9]")
"""A quote within a text of YAML, SQL or CSV."""


def _trimmed(value: bytes) -> bytes:
    """Return a value without the punctuation and brackets of the text around it."""
    for _ in range(_MAX_CLOSERS):
        last = value[-1:]
        opener = _CLOSERS.get(last)
        if not last or (last not in b",;:." and (opener is None or value.count(opener) >= value.count(last))):
            break
        value = value[:-1]
    return value


def more_of_list(data: bytes, span: Span) -> list[Span]:
    """Return the quoted items that follow in the same list."""
    items: list[Span] = []
    for _ in range(20):
        gap = _COMMA.match(data, span.end)
        if gap is None:
            break
        following = value_at(data, gap.end())
        if following is None or not following.quoted:
            break
        items.append(following)
        span = following
    return items


# Words that stand after "token:" or "password =" in prose, in code and in messages about limits.
_WORDS = frozenset(
    b"none null nil true false undefined required missing invalid expired incorrect wrong unknown empty string "
    b"redacted hidden masked optional provided disabled enabled revoked denied failed error field value number bool "
    b"boolean int must cannot should tokens maximum limit requested usage count expected unexpected "
    b"access authentication authorization header headers basic bearer digest negotiate include omit same-origin "
    b"please check found mismatch short weak blank present absent unset valid ignored skipped omitted used using with "
    b"from user username email name type length size this that your their have does when where which unauthorized "
    b"forbidden rejected rotated object array text default password passwd passphrase secret token credential "
    b"credentials key keys api_key apikey confirm_password new_password old_password cookie sensitive known "
    b"auth command unbound parameter permission".split()
)
# References to where a secret is kept, what others have masked, and what programs call a type, a field or an error.
_REFERENCE = (
    r"\*+|[xX]{4,}|\.{3,}|\$\{[^{}]*\}|\$[A-Z_][A-Z0-9_]*|\$\{?\{[^{}]*\}\}?\}?|%[A-Z_][A-Z0-9_]*%|<[A-Za-z_ \-]+>|"
    r"(?:process\.env|os\.environ|os\.getenv|getenv|env|secrets|vars|var|config|settings|self)[.(\[].*|"
    r"\*[A-Za-z][A-Za-z_\-]*|"  # an alias of YAML, a pointer
    r"[a-z]+\([0-9.,%\s]*\)?|"  # a colour
    r"(?:[A-Z][a-z]+)*Secret(?:Str(?:ing)?|Box|Bytes|Text|Value)(?:\(\W*\)?)?|\[(?i:hidden|masked|filtered|removed|secret|redacted|circular)\]|\(?(?i:hidden|masked|filtered)\)?|"
    r"(?:[|+:=\-]|\xe2[\x94\x95][\x80-\xbf])+|"  # a line between the rows of a table
    r"\$\(.*|<<<?[~\-]?[\"'\\]?[A-Za-z_]*.*|"  # what a shell puts in, or what follows
    r"!{1,2}[A-Za-z]+|[0-9.]+(?:px|r?em|pt|v[hw]|ms|[kMG]i?B)|"  # a tag of YAML, a length
    # A path, with the line or the test behind it; members and calls of code.
    r"(?:[A-Za-z]:)?[\w.~@\-]*(?:[/\\][\w.@\-]+)+\.[A-Za-z]{1,5}(?:[:(\[].*)?|~?(?:/[a-z0-9_.\-]+){2,}|"
    r"(?:[A-Za-z_]+\.)+[A-Za-z_]*(?i:pass|pwd|secret|token|key|cred|auth)[A-Za-z_]*|"
    r"[A-Za-z_]+(?:\.[A-Za-z_]+)*(?:[(\[][A-Za-z_.,:|*]*[)\]]?|\[[A-Za-z0-9_:\-]*\])+(?:\.[A-Za-z_]+(?:\(\))?)*|(?:var)?char\([0-9]+\)|"
    r"(?:[A-Z]+_)*(?:API|CODE|DENIED|ENV|ERROR|EXPIRED|FAILED|FIELD|INVALID|KEY|MISSING|NOT|PASSWORD|REQUIRED|SECRET|TOKEN)"
    r"(?:_[A-Z]+)*|(?:[A-Z][a-z]+)+(?:Denied|Error|Exception|Expired|Failed|Failure|Invalid|Missing|NotFound|Required)"
)
# A complaint about a field, as forms and schemas give it: "This field is required."
_COMPLAINT = (
    r"(?i)^(?:this|the|your|is|are|must|may|can(?:not|'t)?|should|please|too|not|no|invalid|required|ensure|at least|"
    r"value|input|field|password|passwords|token|secret|expected|missing|does|do|enter|string|we|you|has|was)\b.*"
    r"\b(?:required|short|long|least|most|characters?|contain|match|blank|empty|null|valid|invalid|weak|common|"
    r"incorrect|wrong|expired|missing|provided|field|allowed|failed|found|string|type|revoked|denied|unknown)\b"
)


_LETTER, _DIGIT, _INNER_CAPITAL = LazyPattern(rb"[A-Za-z]"), LazyPattern(rb"[0-9]"), LazyPattern(rb"[a-z][A-Z]")
_KEY = LazyPattern(rb"[A-Za-z0-9+/_\-]+={0,2}")
_ULID = LazyPattern(rb"[0-7][0-9A-HJKMNP-TV-Z]{25}")
"""The letters of Crockford's base 32: <https://github.com/ulid/spec>."""
_PORT = LazyPattern(rb"[0-9]{1,5}[/?#]")
_DIRECTORY = LazyPattern(rb"/|[A-Za-z]:\\|~")


def is_plain(value: bytes) -> bool:
    """Return true for a value that is no plain word, no plain number, no reference, no complaint."""
    return is_password(value) and (not _is_number(value) or _is_long_number(value))


def _is_long_number(value: bytes) -> bool:
    return len(value) >= _MIN_DIGITS and value.isdigit()


_MIN_DIGITS = 15
"""Of a number that counts nothing: a time in milliseconds has fewer."""


def is_password(value: bytes) -> bool:
    """Return true for a value as `is_plain` does, and for a number."""
    bare = value.strip(b".,:;!?()[]{}<>*` ").lower()
    if len(bare) < 4 or bare in _WORDS or (_is_number(value) and not bare.isdigit()):
        return False
    if regex(_REFERENCE).fullmatch(value.strip()) is not None:
        return False
    return b" " not in bare or value.count(b" ") < 2 or regex(_COMPLAINT).search(value) is None


def _is_number(value: bytes) -> bool:
    return value.strip(b".,:;!?()[]{}<>*` ").translate(None, b".,_").isdigit()


def is_mixed(value: bytes) -> bool:
    """Return true for what does not read like words: letters with digits, changing case, or a very long number."""
    if len(value) < 6 or not is_plain(value):
        return False
    if len(_INNER_CAPITAL.findall(value)) > 1 or _is_long_number(value):
        return True
    return _LETTER.search(value) is not None and _DIGIT.search(value) is not None


def is_token(value: bytes) -> bool:
    """Return true for letters with at least three digits, as no name of a function or a file has them."""
    return len(_DIGIT.findall(value)) >= 3 and _LETTER.search(value) is not None


def is_random(value: bytes) -> bool:
    """Letters of both cases and digits, mixed as in a generated key: over 4.5 bits a character.

    Digests and uuids are none, since sixteen digits cannot carry more than 4 bits, and neither are ULIDs.
    """
    if len(value) < _MIN_RANDOM or _KEY.fullmatch(value) is None or _ULID.fullmatch(value) is not None:
        return False
    counts = Counter(value)
    bits = -sum(count / len(value) * math.log2(count / len(value)) for count in counts.values())
    return bits > _ENTROPY_BITS


def is_long(value: bytes) -> bool:
    """Return true for a generated value, or 24 letters and digits in a run."""
    return is_random(value) or (_LONG_RUN.fullmatch(value) is not None and is_token(value))


_LONG_RUN = LazyPattern(rb"[A-Za-z0-9]{24,}")


def is_owned_key(value: bytes) -> bool:
    """Return true for a generated value, or 20 letters and digits that are mixed and no hexadecimal number."""
    return is_random(value) or (
        _OWNED_KEY.fullmatch(value) is not None and _HEX.fullmatch(value) is None and is_mixed(value)
    )


_OWNED_KEY, _HEX = LazyPattern(rb"[A-Za-z0-9]{20,}"), LazyPattern(rb"[0-9a-fA-F]+")
ALTERNATING = r"[0-9][a-f]*[g-wyz][a-z]*[0-9]+[a-z]+[0-9]+[a-z]+[0-9]+[a-z]"
"""RE2: letters and digits that take turns, as those of no hexadecimal number."""
_ALTERNATING = LazyPattern(ALTERNATING.encode())
# Before it may stand what numbers lines, and the sign of a difference.
_FREE_BEFORE = LazyPattern(rb"(?:\A|[^\w\-./\\+@%#~:\x80-\xff]|[0-9]:|\xe2\x86\x92|(?:\A|\n)\+)\Z")
_CONTINUES = LazyPattern(rb"[\w\-/+@%~=]|\.\w")
_DIGIT_THEN_LETTER = LazyPattern(rb"[0-9][a-z]")
_BECH32 = LazyPattern(rb"[a-z]{2,10}1[02-9ac-hj-np-z]{38,}")
"""An address of a chain, or a public key: <https://github.com/bitcoin/bips/blob/master/bip-0173.mediawiki>."""


def generated_at(data: bytes, start: int, stop: int) -> tuple[int, int] | None:
    """A run of small letters and digits of 28 or more as generators of secrets write them; None for an id or a name.

    Ids of this alphabet are shorter (CUID2: 24, Docker's: 25), or of fewer letters: base32, that of Nix, hexadecimal.
    """
    value = data[start:stop]
    if _FREE_BEFORE.search(data[max(0, start - 3) : start]) is None or _CONTINUES.match(data, stop) is not None:
        return None
    turns, digits = len(_DIGIT_THEN_LETTER.findall(value)), len(_DIGIT.findall(value))
    if _ALTERNATING.search(value) is None or turns * 10 < len(value) or digits * 6 < len(value):
        return None  # a name has fewer of both
    if _BECH32.fullmatch(value) is not None:
        return None
    return (start, stop) if value.translate(None, b"0189") != value != value.translate(None, b"eotu") else None


def is_url_password(value: bytes) -> bool:
    """Return true for a password, false for a port with a path after it."""
    return _PORT.match(value) is None


def is_no_directory(value: bytes) -> bool:
    """`PWD` is a shell's working directory."""
    return is_password(value) and _DIRECTORY.match(value) is None


def is_credential(value: bytes) -> bool:
    """Return true for the credential of an `Authorization` header, with or without the name of its scheme."""
    return credential_in(value) is not None


def credential_in(value: bytes) -> int | None:
    """Return where the credential of an `Authorization` header ends; None for words about one."""
    match = regex(_CREDENTIAL).match(value.rstrip())
    if match is None:
        return None
    end: int = match.end()
    scheme, secret = match.group(1), match.group(2)
    if scheme is not None and scheme.strip().lower() in _SCHEMES:
        return end if is_plain(secret) else None
    if scheme is not None and (is_mixed(secret) or b"=" in secret):
        return end
    alone = _BARE.match(value)
    if alone is None or not is_plain(alone.group()):
        return None
    return int(alone.end())


_CREDENTIAL = (
    r"([A-Za-z][A-Za-z0-9_\-]{1,30} +)?([A-Za-z_\-]{1,30}=\\*\"[^\"\r\n]*\"|[^\s,;\"'\\]+)"
    r"(?:[,;]? *[A-Za-z_\-]{1,30}=(?:\\*\"[^\"\r\n]*\"|[^\s,;\"'\\]+))*"
)
_SCHEMES = frozenset(
    b"basic bearer token digest negotiate ntlm apikey api-key api_key key hmac hawk oauth mac dpop gnap sharedkey "
    b"sharedkeylite sharedaccesssignature aws aws4-hmac-sha256 aws4-ecdsa-p256-sha256 goog4-rsa-sha256 splunk "
    b"snowflake signature vapid bot privatetoken private-token jwt genie-key genie-api-key zoho-oauthtoken "
    b"klaviyo-api-key googlelogin pagerduty deepl-auth-key discogs ghost client-id".split()
)
GUARDS: dict[str, Callable[[bytes], bool]] = {
    "": lambda _value: True,
    "password": is_password,
    "plain": is_plain,
    "mixed": is_mixed,
    "token": is_token,
    "random": is_random,
    "long": is_long,
    "owned": is_owned_key,
    "url": is_url_password,
    "directory": is_no_directory,
    "authorization": is_credential,
    "cookie": lambda value: (b"=" in value and len(value) >= 6) or is_owned_key(value),
}


class _Flags(NamedTuple):
    """A flag of some commands that takes a secret."""

    commands: tuple[str, ...]
    flags: str
    """RE2: the flag, with what may stand between it and its value."""
    behind: bytes = b""
    """What the secret stands behind: user and password are one value. Empty: all of it is secret."""


NEXT_ITEM = (
    r"(?:[\"']?\s{1,4}arg[sv]?\[[0-9]{1,3}\]\s?[:=]\s?|\s{1,8}(?:-\s{1,4})?|\s{0,4},\s{0,8}"
    r"|[\"']\s{0,4}\}\s{0,4},\s{0,8}\{\s{0,8}[\"'][a-z]{3,6}_?[vV]alue[\"']\s{0,4}:\s{0,8})"
)
"""RE2: between two arguments, in a command line, a list of YAML or of items, or one of OTLP's values."""
_THEN = rf"(?:{NEXT_ITEM}|[\"'],?\s*|=)"

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
_FLAGS_OF = {command: row for row in _TABLE for command in row.commands}
NAMES = tuple(_FLAGS_OF)
COMMANDS = tuple(sorted((name.replace("-", r"\-") for name in _FLAGS_OF), key=len, reverse=True))
"""RE2 for each name."""
FLAG_TRACE = (
    r"(?:^|[\s\"',\[(]|\\[nrt])-(?:-user|-proxy-user|-auth|-pass|-?pass(?:in|out)?|[uUapPwk])[^\s\-]*[\s\"',=\\]+[^\s\"',=\-\\]"
    r"|(?:^|[\s\"',\[(]|\\[nrt])-[uU][^\s\"':\-]+:"
    r"|\<(?:sshpass|7za?|m(?:ysql|aria)[a-z\-]*)[^\n]*?(?:[\s\"',\[]|\\[nrt])-p"
)
_PORTS = LazyPattern(rb"[0-9.:\-]{1,60}(?:/[a-z]{1,10})?")
_LEAST_TOKEN = 12
_COMMAND_LINE = 1_000
"""Bytes behind a command that are its arguments."""


def command_spans(data: bytes, at: int, command: bytes) -> Iterator[tuple[int, int]]:
    """Yield the secrets in the arguments of a command that begin at `at`."""
    row = _FLAGS_OF[command.decode("ascii")]
    line = regex(r"[^\r\n|;]*").match(data, at, min(len(data), at + _COMMAND_LINE))
    if line is None:
        return
    for flag in regex(rf"(?:^|[\s\"'(\[,])[\"']?({row.flags})").finditer(line.group()):
        begins = at + flag.end()
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
    """Return where the secret in a value begins; None where there is none, or a port."""
    start = value.find(behind) + len(behind) if behind else 0
    if behind and start < len(behind):
        return None
    secret = value[start:]
    if behind and not secret:  # `curl -u a1B2c3D4e5F6g7:`, a token without a password
        return 0 if len(value) > _LEAST_TOKEN and is_token(value) else None
    if secret.startswith((MARK, b"//")) or (not behind and b":" in secret and _PORTS.fullmatch(secret) is not None):
        return None
    return start if is_password(secret) else None


def flag_of(command: str, flag: str) -> bytes | None:
    """Return what precedes a secret in the argument after this flag of this command; None for another flag.

    An empty flag asks whether there is such a command at all.
    """
    row = _FLAGS_OF.get(command.rsplit("/", 1)[-1])
    if row is None:
        return None
    if flag and regex(row.flags).fullmatch(f"{flag} ".encode("utf-8", "replace")) is None:
        return None
    return row.behind


def attached_to(command: str, argument: bytes) -> int | None:
    """Return where the secret begins in an argument that is flag and value in one, as `-phunter2x` of mysql."""
    row = _FLAGS_OF.get(command.rsplit("/", 1)[-1])
    flag = regex(row.flags).match(argument) if row is not None else None
    if row is None or flag is None or argument[flag.end() :].startswith(b"-"):
        return None
    secret = secret_in(argument[flag.end() :], row.behind)
    return None if secret is None else flag.end() + secret
