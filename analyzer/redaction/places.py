"""Secrets that only their place gives away: behind a secret's name, beside it in a pair, after a flag, in a command.

Whether a name is secret is for `keys` to say, and where its value ends for `values`; here is what may stand between.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import pairwise
from typing import NamedTuple

from analyzer.redaction import keys
from analyzer.redaction.automata import LazyPattern, Spans, matches
from analyzer.redaction.unfolding import FOLDED
from analyzer.redaction.values import (
    COMMANDS,
    CURLY,
    DRESS,
    FLAG_TRACE,
    GUARDS,
    HERE,
    MARK,
    MARKED,
    NEXT_ITEM,
    NUMBERED,
    REFERRED,
    Span,
    command_spans,
    credential_in,
    is_mixed,
    is_plain,
    is_token,
    more_of_list,
    nothing_at,
    value_at,
)

SecretSpan = tuple[int, int, str]
"""Start and stop of a secret, and the name of its mark."""


class Place(NamedTuple):
    """A way in which a text says that what follows is a secret."""

    pattern: str
    trace: str
    """As of a `Family`."""
    spans: Callable[[bytes, Spans], Iterator[SecretSpan]]
    """The secrets at one match."""
    example: str
    check: str = ""
    """RE2: what a text has where it is worth looking at each match; empty for the pattern."""


_CLOSE = rf"(?:{CURLY}|[\"'`\])]){{0,4}}"
# Between a name and its separator: a note in brackets, whom it is for, its type.
_WORD_OF_TYPE = r"(?:(?:std::)?string|str|text|var|\[\]byte|char\*?|varchar\([0-9]+\))"
_TYPE = (
    rf"(?:\s{{1,4}}{_WORD_OF_TYPE}|\s{{0,4}}:\s{{0,4}}&?(?:'static )?[A-Za-z_][A-Za-z_.:]{{0,30}}"
    r"(?:[\[<][A-Za-z_., |\[\]<>]{0,40}[\]>])?\??\s)"
)
_NOTE = r"[\[(][A-Za-z*][^\])\n]{0,24}[\])]"
_PREPOSITION = r"(?:for|f\xc3\xbcr|of|von|pour|para|per|voor|dla|\xd0\xb4\xd0\xbb\xd1\x8f)"
_OWNER = r"(?:'[^'\n]{1,80}'|\"[^\"\n]{1,80}\"|[^\s:=]{1,60}(?:\s[^\s:=]{1,40})?)"
_PARTICIPLE = (
    r"(?:(?:is|was|has been|you|ist|est|es|\xc3\xa9|jest) )?(?:not |non |nicht |no |nie |n\xc3\xa3o )?"
    r"(?:provided|given|supplied|specified|entered|used|sent|received|configured"
    r"|incorrect|wrong|invalid|expired|revoked|rejected|disabled|denied|unknown|valid|recogni[sz]ed|accepted|leaked|found"
    # The same of other languages, whose accents JSON may write by number.
    r"|falsch|ung[^\s:]{1,6}ltig|abgelaufen|abgelehnt|incorr?et?t?[aeo]|incorrect[aeo]|err(?:at|ad|on)[ao]|err?on[^\s:]{1,6}e?"
    r"|sbagliat[ao]|scadut[ao]|v[^\s:]{1,6}lid[ao]|inv[^\s:]{1,6}lid[aeo]?|invalide|expir(?:ad[ao]|[^\sa-z:]{1,6}e?)|verlopen|onjuist|ongeldig"
    r"|felaktigt|forkert|feil|yanl[^\s:]{1,6}|ge[^\s:]{1,6}ersiz|b[^\s:]{1,12}dne|nieprawid[^\s:]{1,6}owe|neplatn[^\s:]{1,6}"
    r"|(?:\xd0[\xb0-\xbf]|\xd1[\x80-\x8f]){4,14}|(?:\\u04[34][0-9a-fA-F]){4,14})"
)
_ARROW = r"\xe2\x86\x92"
_BOX, _BOX_ESCAPED = r"\xe2(?:\x94[\x82\x83]|\x95\x91)", r"\\u(?:250[23]|2551)"
_SIGN = r"(?:[?:.+|!]{0,3}=(?:={0,2}>?)|<-|:{1,2}|\xef\xbc[\x9a\x9d]|>)"
_ITEM = r"\r?\n[ \t]{0,40}-[ \t]{1,4}"
_BAR = rf"[ \t]{{1,4}}(?:->?|{_ARROW}|\||{_BOX})"
_ASSIGN = (
    rf"(?:{_TYPE}\s{{0,4}}[:?]?=|\s{{0,8}}(?:\s{_NOTE}\s{{0,4}})?{_SIGN}"
    rf"|(\s{{1,4}}(?:{_PREPOSITION}\s{_OWNER}\s?[:=]|{_PARTICIPLE}\s?:))|{_BAR})"
    rf"(?:[ \t]{{0,8}}{_ITEM}|\s{{0,8}})"
)
_NAME = r"[A-Za-z0-9_.\-]"
_COLON = LazyPattern(rb"\s{0,4}[:=]")
_SENTENCE = LazyPattern(rb"[A-Z]?[a-z]{1,30}[,.]? (?:[a-z]+|[0-9]{1,4}\b)")
_REMARK = LazyPattern(f"(?i){_PARTICIPLE}".encode())
_DATE_OR_MASK = LazyPattern(rb"[0-9]{4}-[0-9]{2}-[0-9]{2}|\S{0,24}\*{3}")
"""When a token ended, and a key that is masked."""
_PROGRESS = LazyPattern(rb"[A-Z][a-z]{2,20}ing\b")
_PAIR_END = LazyPattern(rb"\s{0,8},?\s{0,8}[\])]")
_LINE = LazyPattern(rb"[^\r\n]{1,1000}")
_OBJECT_END = LazyPattern(rb"\}|(?<!\n)>")
_QUOTED_NAME = rf"[bBuU]?[\"'][^\s\"'\\,]{{0,60}}?({keys.WORDS}){keys.SUFFIX}[\])]?[\"']"

# The same in JSON, where a blank may be `\n`, a quote `\"`, and `>` is written by number.
_CURLY_ESCAPED = r"\\u(?:201[89a-eA-E]|00[aAbB][bB]|300[c-fC-F])"
_GAP = rf"(?:{CURLY}|{_CURLY_ESCAPED}|[\s\"'`\\\])]|\\(?:[nrtf]|u00[01][0-9a-fA-F]))*"
_SIGN_TRACE = (
    r"(?:[=:|>]|<-|\\u003(?:[eE]|[cC]-)|\xef\xbc[\x9a\x9d]|\xe2\x86\x92|\\u(?:[fF]{2}1[aAdD]|2192)"
    rf"|-\s{{1,4}}\\*[\"'`]|{_BOX}|{_BOX_ESCAPED})"
)
_ASSIGN_TRACE = (
    rf"{_GAP}(?:{_NOTE}\s*|{_PREPOSITION}\s[^:\n]{{1,80}}|{_PARTICIPLE}\s?|{_WORD_OF_TYPE}\s+)?"
    rf"[?.+!\-]{{0,3}}{_SIGN_TRACE}"
    rf"(?:[=>\[({{]|\\u003[eE]|{_GAP[:-1]})*"
)
_VALUE_START = r"(?:[0-9]{15}|[0-9.]*(?:[^0-9.,\s\"';&)}\]\\\[{]|\\[bu/]|&(?:[a-z0-9_\-]+[ \t]|\\*')))"
"""The first character of a value that is more than a number that counts something."""


def _guard(data: bytes, match: Spans) -> str:
    return keys.guard_at(data, *match[1])


def mark_of(guard: str) -> str:
    """Return the name of the mark of a value with this guard."""
    return {
        "authorization": "authorization",
        "cookie": "cookie",
        "random": "random_key",
        "long": "random_key",
        "owned": "random_key",
    }.get(guard, "assignment")


def _is_secret(data: bytes, span: Span, guard: str) -> bool:
    return not data.startswith(MARK, span.start) and GUARDS[guard](data[span.start : span.stop])


def _assignment(data: bytes, match: Spans) -> Iterator[SecretSpan]:
    """`password = x`, `"api_key": "x"`, `X-Api-Key: x`, `?token=x`, `<password>x</password>`, `token provided: x`."""
    at = match[0][1]
    start = match[1][0]
    guard = "" if _is_no_value(data, at, start) else _guard(data, match)
    if not guard:
        return
    around = data[max(0, start - 64) : start].rstrip(_NAME_BYTES)
    separator, dress = data[slice(*match[2])].strip(), data[match[2][1] : at]
    if _is_no_assignment(around, separator, dress):
        return
    query = around[-1:] in (b"?", b"&") and not around.endswith(b"&&")
    name = mark_of(guard)
    if query and guard in ("plain", "mixed", "random", "password"):
        name, guard = "query_secret", "plain"
    if guard == "authorization":
        yield from _authorization(data, at)
        return
    span = _assigned_value(separator, data, at, line=guard == "cookie", query=query)
    is_remark = match[3][0] >= 0 and _REMARK.match(separator) is not None
    if span is None or (is_remark and _DATE_OR_MASK.match(data, span.start) is not None):
        return
    if span.quoted and separator[-2:] != b"==" and _COLON.match(data, span.end) is not None:
        # The name of an object, or of its first member: `{"password": {"value": "x"}}`.
        yield from _value_beside(data, at, _object_end(data, at), guard)
        return
    listed = span.quoted and (data[at : at + 1] in (b"[", b"(") or b"[" in dress)
    spans = [span, *more_of_list(data, span)] if listed else [span]
    if len(spans) == 2 and guard == "mixed":
        spans, guard = spans[1:], "plain"  # `auth=("app", "x")`
    if separator == b"-" or (not span.quoted and (separator[:1] in (b"|", b"+", b"!") or match[3][0] >= 0)):
        guard = "token" if is_remark and guard != "password" else "mixed"
    if not span.quoted and separator[:1] != b">" and b"\n" in data[match[2][0] : at]:
        spans = [*_values_in_lines(data, at)] if separator[-1:] in (b":", b"=", b"-") or dress else []
        phrase = _PHRASE.match(data, at) if b"phrase" in data[slice(*match[1])].lower() and dress[:1] in b">|" else None
        spans = [Span(at, phrase.end(), False, phrase.end())] if phrase is not None else spans
    elif guard == "password" and not span.quoted and _is_secret(data, span, guard):
        stop = max(span.stop, _ini_end(data, start, at, span.stop))
        spans = [Span(at, stop, False, stop)]
    for value in spans:
        if _is_secret(data, value, guard) and not (_is_prose(data, value, guard, match, around) and not value.quoted):
            yield value.start, value.stop, name


def _is_no_value(data: bytes, at: int, name: int) -> bool:
    """Return true for a value that is a mark (as in later rounds), a generic type, or too short."""
    if nothing_at(data, at) and data[name] not in b"aA":  # `Authorization: Key x`
        return True
    opening = data.rfind(b">", max(0, at - 4), at)
    if opening >= 0 and _PLACEHOLDER.match(data, opening) is not None:
        return True
    return (data.startswith(MARK, at) and MARKED.match(data, at) is not None) or _GENERIC.match(data, at) is not None


def _is_no_assignment(around: bytes, separator: bytes, dress: bytes) -> bool:
    """Return true where no value is assigned: in a mark or an ARN, after a tag of YAML, after a `>` of no element."""
    if around.endswith(MARK) or b"arn:" in around:  # `arn:aws:secretsmanager:…:secret:prod/db` is a name
        return True
    if separator[:1] == b">" and not around.rstrip(b":").endswith((b"<", b"</")) and b"<" not in around[-16:]:
        return True
    return dress != b"" and REFERRED.match(dress) is not None


def _values_in_lines(data: bytes, at: int) -> Iterator[Span]:
    """Yield the values of a block or a list: what stands in each of the lines that begin like the first."""
    begin = data.rfind(b"\n", 0, at)
    before = data[begin:at]
    for _ in range(_MAX_ROWS):
        line = _LINE.match(data, at)
        span = value_at(data, at) if line is not None else None
        # A line of several words is prose, one with a colon behind the first is a member.
        if line is None or span is None or data.startswith(b":", span.stop):
            return
        alone = len(before) > 1 and not line.group()[span.end - at :].strip(b" \t\"'`\\,;)]}")
        if alone or GUARDS["token"](data[span.start : span.stop]):
            yield span
        at = line.end() + len(before)
        if len(before) == 1 or data[line.end() : at] != before:
            return


def _ini_end(data: bytes, name: int, at: int, stop: int) -> int:
    """Return where a value of several words ends in a file of lines `name = value`; 0 for any other text."""
    line = data.rfind(b"\n", max(0, name - 80), name) + 1
    if not line or _INI_NAME.fullmatch(data, line, at) is None:
        return 0
    rest = _WORDS_LEFT.match(data, stop)
    before = data.rfind(b"\n", max(0, line - 400), line - 1) + 1
    return rest.end() if rest is not None and _INI_LINE.fullmatch(data, before, line) is not None else 0


_PHRASE = LazyPattern(rb"[a-z0-9]{1,24}(?:[ \-][a-z0-9]{1,24}){2,24}(?=[ \t]{0,8}(?:[\r\n]|\Z))")
_INI_NAME = LazyPattern(rb"[ \t]{0,20}[A-Za-z][\w.\- ]{0,80}=[ \t]{0,40}")
_INI_LINE = LazyPattern(rb"[ \t]{0,20}(?:\[[^\[\]\r\n]{1,80}\]|[\w .\-]{1,80}=[^\r\n]{0,400}|[#;][^\r\n]{0,400})\r?\n")
_WORDS_LEFT = LazyPattern(rb"(?:[ \t]{1,8}[^\s=:;,#\"'`<>|()\[\]{}&]{1,40}){1,6}(?=[ \t]{0,8}(?:[\r\n]|\Z))")


def _assigned_value(separator: bytes, data: bytes, at: int, *, line: bool, query: bool) -> Span | None:
    element = _element_at(data, at) if separator[:1] == b">" else None
    span = element or value_at(data, at, line=line, query=query)
    # Without quotes, a dash stands between words.
    return None if separator == b"-" and span is not None and not span.quoted else span


def _element_at(data: bytes, at: int) -> Span | None:
    """Return the text of an element that has words in it, as one value: `<secret>{of x a1b2c3}</secret>`."""
    element = _ELEMENT.match(data, at)
    if element is None or b" " not in element[1] or not is_mixed(element[1]):
        return None
    return Span(at, at + len(element[1].rstrip()), False, element.end())


_ELEMENT = LazyPattern(rb"([^<>\n]{1,200})</")
_GENERIC = LazyPattern(rb"[A-Z][A-Za-z]{2,40}<[A-Za-z]")
"""A type that is made of others."""
_PLACEHOLDER = LazyPattern(rb"(?<=\w)>[\"'`]?[ \t](?![^\r\n]{0,200}</)")
"""The end of `<YOUR_TOKEN>`, behind which a text goes on."""
_NAME_BYTES = b"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.-"


def _is_prose(data: bytes, span: Span, guard: str, match: Spans, around: bytes) -> bool:
    """Return true for a sentence about a name: "Invalid token: use another", "/data/token: Permission denied"."""
    separator = data[slice(*match[2])]
    if separator.strip() != b":" or not separator[-1:].isspace():
        return False
    value = data[span.start : span.stop]
    if (around[-1:] in (b"/", b"\\") or data[slice(*match[1])].lower() == b"pass") and not is_mixed(value):
        return True
    return (_SENTENCE if guard != "password" else _PROGRESS).match(data, span.start) is not None


def _authorization(data: bytes, at: int) -> Iterator[SecretSpan]:
    span = value_at(data, at, line=True)
    if span is None or data.startswith(MARK, span.start):
        return
    if span.quoted:
        if GUARDS["authorization"](data[span.start : span.stop]):
            yield span.start, span.stop, "authorization"
        return
    line = _LINE.match(data, at)
    end = credential_in(line.group()) if line else None
    # What goes on behind an escape is read in the form in which this is none.
    if end is not None and FOLDED.search(data, max(at, at + end - 9), at + end + 8) is None:
        yield at, at + end, "authorization"


def _marked_up(data: bytes, match: Spans) -> Iterator[SecretSpan]:
    """Find the value of a place whose syntax says what is its name and what its value."""
    at = match[0][1]
    guard = "" if _is_no_value(data, at, match[1][0]) else _guard(data, match)
    span = value_at(data, at, line=guard in ("authorization", "cookie")) if guard else None
    # Without quotes, a token may be that of a parser: `<token type="keyword">return</token>`.
    guard = "mixed" if guard == "plain" and span is not None and not span.quoted else guard
    if span is not None and _is_secret(data, span, guard):
        yield span.start, span.stop, mark_of(guard)


def _marked_up_by_attribute(data: bytes, match: Spans) -> Iterator[SecretSpan]:
    """Find the same behind `name="password">`, where a page may have prose."""
    for start, stop, name in _marked_up(data, match):
        if is_mixed(data[start:stop]) or data.startswith(b"</", stop):
            yield start, stop, name


def _syntax(
    before: str, after: str, example: str, check: str, spans: Callable[..., Iterator[SecretSpan]] = _marked_up
) -> Place:
    """Return a place whose name stands between two patterns, with its value after them."""
    name = rf"[A-Za-z0-9_.\[\]\-]{{0,60}}?({keys.WORDS}){keys.SUFFIX}\]?"
    return Place(f"(?i){before}{name}{after}{DRESS}", _TRACE, spans, example, check)


def _pair(data: bytes, match: Spans) -> Iterator[SecretSpan]:
    """`["authorization", "x"]`, `(b"x-api-key", b"x")`; in a list of names and values by turns, what looks like one."""
    guard = _guard(data, match)
    span = value_at(data, match[0][1]) if guard else None
    if span is None or not span.quoted:
        return
    pair = data[match[0][0] : match[0][0] + 1] in (b"[", b"(")
    pair = pair and _PAIR_END.match(data, span.end) is not None
    if not pair and guard not in ("authorization", "cookie"):
        guard = "mixed"
    if _is_secret(data, span, guard):
        yield span.start, span.stop, mark_of(guard)


_VALUE_NAMES = "|".join(sorted(keys.VALUED, key=len, reverse=True))
_BESIDE_NAME = rf"(?i)(?:^|[\s\"'{{,(\[])(?:{_VALUE_NAMES})[\"']?\s{{0,4}}[:=]\s{{0,4}}{DRESS}"
_MAX_DISTANCE = 400
"""Bytes between a name and its value in one object."""


def _named_member(data: bytes, match: Spans) -> Iterator[SecretSpan]:
    """`{"name": "DB_PASSWORD", "value": "x"}`, in any order; `- name: DB_PASSWORD` and `value: x` in the next line."""
    guard = _guard(data, match)
    if not guard:
        return
    at, behind = match[0]
    stop = _object_end(data, behind)
    start = max(0, at - _MAX_DISTANCE)
    last = start + len(data[start:at].rstrip(b" \t\r\n,}]\"'"))  # `"value": {"stringValue": "x"}, "key": "token"`
    start = max(data.rfind(mark, start, last) for mark in (b"{", b"<", b"}", b"\n")) + 1 or start
    for begin, end in ((behind, stop), (start, at + 1)):
        secrets = [*_value_beside(data, begin, end, guard)]
        if secrets:
            yield from secrets
            return


def _value_beside(data: bytes, start: int, stop: int, guard: str) -> Iterator[SecretSpan]:
    """Yield the value in the part of an object between `start` and `stop`."""
    for beside in matches(_BESIDE_NAME, data[start:stop]):
        span = value_at(data, start + beside[0][1])
        if span is not None and _is_secret(data, span, guard):
            for item in (span, *(more_of_list(data, span) if span.quoted else ())):
                yield item.start, item.stop, mark_of(guard)
            return


def _object_end(data: bytes, start: int) -> int:
    """Return where an object that goes on at `start` ends."""
    bracket = _OBJECT_END.search(data, start, start + _MAX_DISTANCE)
    return bracket.start() if bracket is not None else min(len(data), start + _MAX_DISTANCE)


def _flag(data: bytes, match: Spans) -> Iterator[SecretSpan]:
    """`--password x`, `--api-key=x`, `["--token", "x"]`."""
    guard = _guard(data, match)
    span = value_at(data, match[0][1]) if guard else None
    if span is None or data.startswith(b"-", span.start):
        return
    value = data[span.start : span.stop]
    if guard in ("authorization", "mixed") and b":" in value:
        guard = "plain"
    if _is_secret(data, span, guard):
        yield span.start, span.stop, "argument"


def _sentence(data: bytes, match: Spans) -> Iterator[SecretSpan]:
    """`the password is "x"`, `ALTER ROLE app PASSWORD 'x'`, `API key x is not valid`."""
    span = value_at(data, match[0][1])
    if span is None or data.startswith(MARK, span.start):
        return
    value, word = data[span.start : span.stop], data[slice(*match[1])].lower()
    is_named = word != b"secret" or (span.quoted and data[match[1][0] - 7 : match[1][0]].lower() == b"client ")
    if match[2][0] >= 0 or data[slice(*match[3])].strip():
        counts = is_plain if span.quoted else is_mixed
    elif span.quoted and word.startswith((b"pass", b"pwd")):
        counts = is_plain
    elif _WITH_CREDENTIAL.search(data, max(0, match[1][0] - 24), match[1][0]) is not None:
        counts = is_mixed if word.startswith((b"pass", b"pwd")) else is_token
    elif word.startswith(b"pwd") and _SIGN_INSIDE.search(value) is not None:
        counts = is_mixed
    elif is_named and _guard(data, match) and (span.quoted or _PREDICATE.match(data, span.end) is not None):
        counts = is_token
    else:
        return
    if counts(value) and (counts is not is_token or len(value) >= _MIN_TOKEN):
        yield span.start, span.stop, "assignment"


_PREDICATE = LazyPattern(rb"\s{1,16}(?:is|was|has|does|did|not|for|cannot|could|invalid|expired|revoked|rejected)\b")
_MIN_TOKEN = 8
_SIGN_INSIDE = LazyPattern(rb"[A-Za-z0-9][!$^*#][A-Za-z0-9]")
_WITH_CREDENTIAL = LazyPattern(rb"(?i)\b(?:using|with)(?: (?:the|an?|client|auth|secret|access|db|root|admin)){0,2} \Z")


def _comparison(data: bytes, match: Spans) -> Iterator[SecretSpan]:
    """`strcmp(password, "x")`, `expect(password).toBe("x")`, `"x".equals(token)`."""
    name = next(span for span in (match[1], match[2], match[4], match[6]) if span[0] >= 0)
    guard = keys.guard_of(data[max(0, name[0] - _BEFORE_NAME) : name[1]])
    if not guard:
        return
    start, stop = next((span for span in (match[3], match[5]) if span[0] >= 0), (0, 0))
    span = Span(start, stop, True, stop) if stop else value_at(data, match[0][1])
    if span is not None and span.quoted and _is_secret(data, span, "mixed" if guard == "random" else guard):
        yield span.start, span.stop, mark_of(guard)


_BEFORE_NAME = 24
_COMPARE = r"[a-z_]{0,20}(?:cmp|compare|digest|equals?|eq|verify)[a-z_]{0,20}"
_METHOD = r"\.(?:[a-z_]{0,12}equal[a-z_]{0,12}|eql?|compare[a-z_]{0,12}|(?:to_?)?be)"
_COMPARE_CHECK = r"(?i)(?:cmp|compare|digest|equal|eql?|verify|be)[a-z_]*\("


def _in_brackets(data: bytes, match: Spans) -> Iterator[SecretSpan]:
    """`API key (x)`."""
    guard = _guard(data, match)
    start, stop = match[2]
    if guard not in ("", "random") and _ALGORITHM.match(data, start) is None and is_mixed(data[start:stop]):
        yield start, stop, mark_of(guard)


_ALGORITHM = LazyPattern(
    rb"(?i)rsa|ec|ed[0-9]|dsa|sec|aes|sha|[hrep]s[0-9]|md[0-9]|bcrypt|argon|scrypt|pbkdf|x[0-9]|curve|nist|p-?[0-9]"
    rb"|jwt|oauth|base|pkcs|v[0-9]|line|type|version|min|max"
)
"""What a key is of, or a version."""


def _aligned_columns(data: bytes, match: Spans) -> Iterator[SecretSpan]:
    """Columns that blanks alone part, by the place of their head: `USER  PASSWORD` and `app   x` in the lines below."""
    guard = _guard(data, match)
    begin = _head_at(data, match[1][0])
    head, *rows = data[begin : match[1][0] + _MAX_TABLE].split(b"\n", _MAX_ROWS)
    before = _BEFORE_LINE.match(head, 0, match[1][0] - begin)
    width = before.end() if before is not None else 0
    head, rows, begin = head[width:], [row[width:] for row in rows], begin + width
    cells = [*_BLOCKS.finditer(head)]
    place = next((at for at, cell in enumerate(cells) if cell.end() > match[1][0] - begin), None)
    if (
        not guard
        or place is None
        or len(cells) < 2
        or _NO_HEAD.search(head) is not None
        or cells[place].group()[:1] == b"-"
    ):
        return
    first = cells[place].start()
    behind = cells[place + 1].start() if place + 1 < len(cells) else len(head) + _MAX_LINE
    sure = guard == "password" and bool(rows) and _RULE_LINE.fullmatch(rows[0]) is not None
    for above, row in pairwise((head, *rows)):
        begin += len(above) + 1 + width
        if not row.strip() or data[slice(*match[1])] in row:  # a head again, which is looked at by itself
            return
        for cell in _BLOCKS.finditer(row):
            # Words stand below the beginning of their head, numbers below its end.
            if not (cell.start() < behind and cell.end() > first):
                continue
            value = cell.group()
            if b" " not in value and not value.startswith(MARK) and GUARDS["plain" if sure else "mixed"](value):
                yield begin + cell.start(), begin + cell.end(), mark_of(guard)
            break


_BEFORE_LINE = LazyPattern(rb"[ \t]{0,20}(?:[0-9]{1,7}(?:\xe2\x86\x92|[:|\t])|[|>+\-])[ \t]?")
"""The number of a line, `+` of a difference, `>` of a quotation."""
_BLOCKS = LazyPattern(rb"[^\s](?:[^\s]| (?! ))*")


def _delimited_columns(data: bytes, match: Spans) -> Iterator[SecretSpan]:
    """`user,password` and `app,x` in the lines below; columns of Markdown, psql and boxes; `password,x`."""
    guard = _guard(data, match)
    if not guard:
        return
    # What is no password has to look like a secret: there are tables of limits, and of names.
    worded = _SEVERAL_WORDS.search(data, match[0][0], match[1][0]) is not None
    if worded or guard not in ("authorization", "random"):
        guard = "plain" if guard == "password" and not worded else "mixed"
    name, begin = match[1][0], _head_at(data, match[1][0])
    lines = data[begin : match[1][0] + _MAX_TABLE].split(b"\n", _MAX_ROWS)
    if b"\x1b" in lines[0] or _NO_HEAD.search(lines[0], match[0][1] - begin) is not None:
        return  # an escape of a terminal has semicolons of its own
    # The bar behind the name, or, at the end of a line, the one before it.
    around = data[slice(*match[2])], data[match[0][0] : match[1][0]]
    bar = next((bar for part in around for bar in _BARS if part.startswith(bar)), b"")
    if not bar:
        return
    column = data.count(bar, begin, name)
    if begin and column == 0 and lines[0].rstrip().endswith(data[begin - 1 : begin] + bar):
        return  # the text of a member, which ends with its line
    if column == 0 and lines[0].count(bar) == 1:  # a list of names and values
        yield from _cell(lines[0].split(bar), 1, bar, begin, "mixed")
    for above, line in pairwise(lines):
        begin += len(above) + 1
        if line == lines[0]:  # a head again, which is looked at by itself
            return
        if _RULE_LINE.fullmatch(line) is not None:
            continue
        if bar not in line:
            if above is not lines[0]:  # a line between head and rows has other bars
                return
            continue
        cells = [part.group() for part in _CELLS.finditer(line)] if bar == b"," and b'"' in line else line.split(bar)
        yield from _cell(cells, column, bar, begin, guard)


def _head_at(data: bytes, name: int) -> int:
    """Return where the line begins in which a name is the head of a column."""
    begin = data.rfind(b"\n", max(0, name - _MAX_LINE), name) + 1
    for frame in _FRAME.finditer(data, begin, name):  # the last one counts
        begin = frame.end()
    return begin


_SEVERAL_WORDS = LazyPattern(rb"[A-Za-z] ")
"""A head of several words."""
_FRAME = LazyPattern(rb"[:=\[({b]\s{0,2}[\"']")
"""The member of JSON, or the argument, whose text a table is."""
_NO_HEAD = LazyPattern(rb"[\\:{}]")
_BARS = (b"\xe2\x94\x82", b"\xe2\x94\x83", b"\xe2\x95\x91", b"|", b"\t", b";", b",")
_MAX_ROWS = 200
_MAX_LINE = 1_000
_MAX_TABLE = 16_384
"""Lines and bytes of a table, and bytes of its head before a name in it."""
_RULE_LINE = LazyPattern(rb"(?:[\s|+:=\-]|\xe2[\x94\x95][\x80-\xbf])*")
_CELLS = LazyPattern(rb'"(?:[^"]|"")*"|[^,]+|(?<=,)(?=,)')


def _cell(cells: list[bytes], column: int, bar: bytes, begin: int, guard: str) -> Iterator[SecretSpan]:
    if column >= len(cells):
        return
    cell = cells[column].strip(_AROUND)
    at = begin + sum(map(len, cells[:column])) + column * len(bar) + cells[column].find(cell)
    if cell and not cell.startswith(MARK) and (guard != "mixed" or b" " not in cell) and GUARDS[guard](cell):
        yield at, at + len(cell), mark_of(guard)


_AROUND = b" \r\t\"'`"


def _sql_insert(data: bytes, match: Spans) -> Iterator[SecretSpan]:
    """Find the values of columns in a statement of SQL: `INSERT INTO u (name, password) VALUES ('app', 'x')`."""
    columns = data[slice(*match[1])].split(b",")
    guards = [keys.guard_of(column.strip(b" \t\r\n\"'`[]\\")) for column in columns]
    depth = column = 0
    for token in _SQL.finditer(data, match[0][1], match[0][1] + _MAX_TABLE) if any(guards) else ():
        word, (start, stop) = token.group(), token.span()
        if word in (b"(", b")"):
            depth += 1 if word == b"(" else -1
            column = column if depth > 1 or word == b")" else 0
        elif word == b",":
            column += depth == 1
        elif depth == 0 and word.strip():
            return
        elif depth and column < len(guards) and (word[:1] in b"'\"" or word.strip().isdigit()):
            span = Span(start + 1, stop - 1, True, stop) if word[:1] in b"'\"" else Span(start, stop, False, stop)
            if guards[column] and _is_secret(data, span, guards[column]):
                yield span.start, span.stop, mark_of(guards[column])


_SQL = LazyPattern(rb"'(?:[^'\\]|''|\\.)*'|\"(?:[^\"\\]|\\.)*\"|[(),]|[^'\"(),]+")


def _set_by_command(data: bytes, match: Spans) -> Iterator[SecretSpan]:
    """`npm config set _authToken x`, `ENV DB_PASSWORD x`, a line `requirepass x`: a name, a blank and a value."""
    guard = _guard(data, match)
    span = value_at(data, match[2][1]) if guard else None
    if span is None or data.startswith((b"=", b"("), span.start) or _ASSIGNED.match(data, span.stop - 1) is not None:
        return
    if _SETTERS.match(data, match[0][0]) is None and _LINE_REST.match(data, span.end) is None:
        return
    if _is_secret(data, span, guard if span.quoted or guard == "random" else "mixed"):
        yield span.start, span.stop, mark_of(guard)


_ASSIGNED = LazyPattern(rb"=[\"'\[]")
_SETTERS = LazyPattern(rb"(?:setx?|setenv|ENV|ARG|[hH]eaders?)\s|[xX]-")
_LINE_REST = LazyPattern(rb"[ \t]*(?:[\r\n\"'\\]|\Z)")


def _kubernetes_secret(data: bytes, match: Spans) -> Iterator[SecretSpan]:
    """Yield the values of a `Secret` of Kubernetes, whatever their names are, as YAML and JSON show it."""
    at = match[0][1]
    around = data[max(0, match[0][0] - _MAX_KIND_DISTANCE) : at + _MAX_KIND_DISTANCE]
    if _SECRET_KIND.search(around) is None:
        return
    written, highest = data.startswith(b"string", match[0][0]), at + _MAX_TABLE
    while (entry := _ENTRY.search(data, at, highest)) is not None:
        if _END_OF_DATA.search(data, at, entry.start()):
            return
        span = value_at(data, entry.end())
        at = max(entry.end(), span.end if span is not None else 0)
        if span is None or data.startswith(MARK, span.start):
            continue
        value = data[span.start : span.stop]
        if GUARDS["password"](value) if written else _BASE64.fullmatch(value) is not None:
            yield span.start, span.stop, "secret_data"


_MAX_KIND_DISTANCE = 4_000
"""Bytes between the kind of an object and its data."""
_SECRET_KIND = LazyPattern(rb"kind[\"']?:\s{0,4}[\"']?Secret\b")
_END_OF_DATA = LazyPattern(rb"\}|\n(?=[A-Za-z\-])")
_ENTRY = LazyPattern(rb"(?<![\w.\-])[A-Za-z0-9_.\-]{1,80}[\"']?:(?![ \t]{0,8}[{\n])[ \t]{0,8}")
_BASE64 = LazyPattern(rb"[A-Za-z0-9+/]{4,}={0,2}")


def _pgpass_line(data: bytes, match: Spans) -> Iterator[SecretSpan]:
    """Find the password in a line of `.pgpass`: host, port, database, user and password."""
    if is_plain(data[slice(*match[1])]) and not data.startswith(MARK, match[1][0]):
        yield *match[1], "assignment"


def _command_argument(data: bytes, match: Spans) -> Iterator[SecretSpan]:
    """`curl -u app:x`, `sshpass -p x`."""
    for start, stop in command_spans(data, match[0][1], data[slice(*match[1])]):
        if not data.startswith(MARK, start):
            yield start, stop, "argument"


_ASSIGNMENT = rf"(?i)({keys.WORDS}){keys.SUFFIX}{_CLOSE}({_ASSIGN})"
_SPOKEN_NAME = rf"{keys.PASSWORDS}|(?:(?:api|access|secret)[ _\-]?){{1,2}}key|secret|token"
_VERB = r"(?:ist|is|was|war|to|lautet|est|es|\xc3\xa8|\xc3\xa9|jest|\xc3\xa4r)"
_OF_WHOM = rf"\s{_PREPOSITION}(?:\s[^\s:=\"'`]{{1,40}}){{1,5}}?\s{_VERB}\s{{0,2}}:?\s"
_PARTICLE = r"(?:\xe3\x81\xaf|\xe6\x98\xaf|\xe4\xb8\xba|\xe7\x82\xba)"

_MIXED = r"(?:[\"'\\]+[^\s\"'\\+,)]|[^\s=]*(?:[^0-9\s=][0-9]|[0-9][^0-9\s=]|(?-i:[a-z][A-Z])))"
"""The beginning of a value in quotes, or of one that is more than a word or a number."""
_LIST_TRACE = (
    # A list under such a name is walked, whatever its first item is: `{"token": [1, "x"]}`.
    # So is an object: its member `value`, or one without a name, stands under that name (`{"token": {"value": "x"}}`).
    r"[\])]?\"\s*:\s*(?:\"[0-9.,]*[^0-9.,\"]|\[\s*[^\s\]]|\{\s*\")"
    rf"|[\"'\\]*(?:[ \t]|\\t)+{_MIXED}"
)
_SENTENCE_TRACE = (
    rf"(?:\s|\\[nrt])*(?:{_PARTICLE}|(?:\s|\\[nrt])"
    rf"(?:{_VERB}[\s:]|[\"'\\`]|{_PREPOSITION}\s[^:=\"'`\n]{{1,80}}\s{_VERB}\s|[a-z0-9+/_.$!^*#\-]*(?:[0-9][a-z]|[a-z][0-9])))"
)
# An item of a list that ends in a name, and the item behind it: an object has such a text behind a colon.
_ITEM_TRACE = (
    rf"[\[(,](?:\s|\\[nrt])*[bu]?[\"'\\]+(?:[^\"\\]|\\.)*?{keys.NAMED}(?:[\])\"'\s:\\]|\\[nrtf])*[\"']\s*,(?:\s|\\[nrt])*"
    r"(?:[bu]?[\"'\\]|[\[{]|[0-9]{4})"
)
_TABLE_TRACE = rf"[ \"'\\]*(?:(?:[,;\t|]|  |\\t|{_BOX}|{_BOX_ESCAPED})[^\n\\:{{}}]*)?(?:[\n\\]|$)"
_CALL_TRACE = (
    r"(?:\(\))?(?:\s*,(?:\s|\\[nrt])*(?:[bu]?[\"'\\]|[a-z0-9_.]+\))|(?:\s|\\[nrt])*\)"
    r"|\.[a-z_]+\((?:\s|\\[nrt])*[bu]?[\"'\\])"
)
_IN_BRACKETS_TRACE = r"(?:\s|\\[nrt])\([A-Za-z0-9+/_\-]*[0-9][A-Za-z]"
# Attributes of an element, the end of a name's own element, the length of a text of PHP, a text up to a word or the
# end of the line.
_SYNTAX_TRACE = (
    rf"{_GAP}(?:(?:[ \t\r\n]|\\[nrt])[A-Za-z:_\-]+=|(?:<|\\u003[cC])(?:\\?/|<|\\u003[cC])|;s:[0-9]"
    r"|(?:,[^()]*\))?(?:\s|\\[nrt])*values(?:\s|\\[nrt])*\("
    rf"|\}}(?:\s|\\[nrt])*\}}(?:\s|\\[nrt])*,(?:\s|\\[nrt])*\{{)"
)
_TRACE = "|".join(
    (
        rf"(?i){keys.NAMED_BUT_KEY}(?:{_ASSIGN_TRACE}{_VALUE_START}|{_SENTENCE_TRACE}|{_TABLE_TRACE}|{_LIST_TRACE}|{_IN_BRACKETS_TRACE}|{_CALL_TRACE}|{_SYNTAX_TRACE})",
        rf"(?i){keys.KEY}(?:{_ASSIGN_TRACE}[A-Za-z0-9+/_\-\\]{{16}}|{_LIST_TRACE})",
        rf"(?i)(?:{keys.PASSWORDS}){keys.SUFFIX}{_ASSIGN_TRACE}[0-9]{{4}}",
        f"(?i){_ITEM_TRACE}",
        r"(?i)(?:[?&]|\\u0026)key=[^&\s\"'<>#\\]",
        f"(?i){keys.ESCAPED_WORDS}",
        "(?i)form-data;",
    )
)
"""The trace of all places that begin with a name: one of them, because the words make most of its automaton."""

_ATTRIBUTES = r"(?:[^<>]*[^<>/])?"
_ELEMENTS = r"\s{0,40}(?:<(?:[A-Za-z0-9_\-]{1,20}:)?(?:value|string|text|data|base64)(?:\s[^<>]{0,100})?>\s{0,40}){0,2}"

PLACES: tuple[Place, ...] = (
    Place(
        rf"(?i)(?:^|[\s\"'\[,(`])--?{_NAME}{{0,60}}?({keys.WORDS}){keys.SUFFIX}[\"']?(?:=|{NEXT_ITEM})",
        # Between two items of a list stand quotes and a comma.
        rf"(?i)(?:^|[\s\"'\[,(`]|\\[nrtf]|\\u000[cC])--?[a-z0-9_.\-]*{keys.NAMED}(?:[\s\"',=\\]|\\[nrt]|-[ \t])+"
        r"[^\s\"',=\-\\]",
        _flag,
        "agent --password ⟨hunter2x",
    ),
    Place(
        rf"\b({'|'.join(COMMANDS)})[\"']?[\s,}}]",
        FLAG_TRACE,
        _command_argument,
        "curl -u app:⟨hunter2x",
    ),
    Place(
        rf"(?i)[\[(,]\s{{0,8}}{_QUOTED_NAME}\s{{0,4}},\s{{0,8}}",
        _TRACE,
        _pair,
        '[["authorization", "⟨Bearer hunter2x⟩"]]',
    ),
    Place(
        rf"(?i)(?:^|[\s\"'{{,(<\[])(?:variable\s{{1,4}}|(?:{'|'.join(keys.NAMING)})[\"']?\s{{0,4}}[:=]\s{{0,4}})[\[(]?\s{{0,4}}"
        rf"(?:[\"'][A-Za-z0-9_]{{0,30}}[\"'],\s{{0,4}})?[\"']?"
        rf"[A-Za-z0-9_.\-:/]{{0,60}}?({keys.WORDS}){keys.SUFFIX}(?:[\"'\s,;)\]}}]|$)",
        rf"(?i)(?:^|[\s\"'{{,(<\[\\]|\\[nrt])(?:variable\s|(?:{'|'.join(keys.NAMING)})[\"'\\]*(?:\s|\\[nrt])*[:=])(?:[\s\"'\\\[(]|\\[nrt])*"
        rf"(?:[a-z0-9_]*[\"'\\]+,\s*[\"'\\]*)?"
        rf"[A-Za-z0-9_.\-:/]*{keys.NAMED}(?:[\"'\\\s,;)\]}}]|$)",
        _named_member,
        '{"name": "DB_PASSWORD", "value": "⟨hunter2x⟩"}',
    ),
    Place(
        _ASSIGNMENT + DRESS,
        _TRACE,
        _assignment,
        "password = ⟨hunter2x",
        rf"{_ASSIGNMENT}(?:\S{{4}}|\S{{0,3}}[\"'`\\\[({{&%\x1b]|(?:key|bot|aws|mac|jwt|app) |[|>!&/]\S{{0,3}}\s)",
    ),
    Place(
        rf"(?i)(?:^|[^A-Za-z0-9_])({_SPOKEN_NAME})(?:({_OF_WHOM}|\s?{_PARTICLE})|\s{{1,4}}({_VERB}?)\s{{0,2}}:?)\s{{0,4}}",
        _TRACE,
        _sentence,
        "the password is ⟨hunter2x",
    ),
    Place(
        rf"(?i)(?:^|[\n,;\t|\"'>+]|[0-9]:|{_ARROW}|{_BOX})[ \"']{{0,40}}(?:[A-Za-z]+ ){{0,2}}"
        rf"{_NAME}{{0,40}}?({keys.LONG_WORDS}|pass|pw){keys.SUFFIX}[ \"']{{0,40}}([,;\t|\r\n]|{_BOX}|$)",
        _TRACE,
        _delimited_columns,
        "user,password\napp,⟨hunter2x",
    ),
    Place(
        rf"(?i)(?:^|[\n\"'\t]|[|>+ ] |{_ARROW})\+?{_NAME}{{0,40}}?({keys.LONG_WORDS}|pass|pw){keys.SUFFIX}"
        r"(?:  [^\n]{0,200}|[ \t]{0,8})\r?\n",
        _TRACE,
        _aligned_columns,
        "USER  PASSWORD  HOST\napp   ⟨hunter2x⟩  db.test",
        r"  [^\n]*\n[^\n]*  ",
    ),
    Place(
        rf"(?i)(?:{_COMPARE}\([^()\n\"']{{0,60}}?({keys.WORDS}{keys.SUFFIX})(?:\(\))?\s{{0,4}},\s{{0,4}}"
        rf"|({keys.WORDS}{keys.SUFFIX})(?:\(\))?\)?{_METHOD}\(\s{{0,4}}"
        rf"|{_COMPARE}\(\s{{0,4}}[bu]?[\"']([^\"'\n]{{4,80}})[\"']\s{{0,4}},[^()\n\"',]{{0,60}}?({keys.WORDS}{keys.SUFFIX})(?:\(\))?\s{{0,4}}[,)]"
        rf"|[\"']([^\"'\n]{{4,80}})[\"']{_METHOD}\([^()\n\"',]{{0,60}}?({keys.WORDS}{keys.SUFFIX})(?:\(\))?\s{{0,4}}\))",
        _TRACE,
        _comparison,
        'strcmp(password, "⟨hunter2x⟩")',
        _COMPARE_CHECK,
    ),
    Place(
        rf"(?i)({keys.LONG_WORDS}){keys.SUFFIX}\s\(([A-Za-z0-9+/_\-]{{8,}}={{0,2}})\)",
        _TRACE,
        _in_brackets,
        "the API key (⟨a1b2c3d4e5f6⟩) is not valid",
        r"\s\([A-Za-z0-9+/_\-]{8}",
    ),
    Place(
        # In front of a line stand its number, `+` of a difference, `>` of a quotation.
        rf"(?:(?:^|[\n\"'])[ \t]{{0,20}}(?:[0-9]{{0,7}}(?:{_ARROW}|[:|>+\-\t])[ \t]{{0,8}})?"
        rf"|(?:\b(?:setx|setenv|set|ENV|ARG)|[hH]eaders?)\s{{1,4}}(?:--?[a-z\-]{{1,20}}\s{{1,4}})?|\b[xX]-)[\"']?"
        rf"[A-Za-z0-9_.:/\-]{{0,80}}?((?i:{keys.WORDS}))(?i:{keys.SUFFIX})[\"']?([ \t]{{1,40}}){_MIXED}",
        _TRACE,
        _set_by_command,
        "npm config set //registry.test/:_authToken ⟨a1b2c3d4e5",
    ),
    # An element with attributes, one that an attribute names, one beside the one with the name
    _syntax(
        r"<(?:[A-Za-z0-9_\-]{1,20}:)?",
        rf"(?:\s{_ATTRIBUTES})?>{_ELEMENTS}",
        "<password type='x'>⟨hunter2x⟩</password>",
        r"[A-Za-z0-9_.\-\"']\s?>",
    ),
    _syntax(
        r"<[A-Za-z][A-Za-z0-9_.:\-]{0,40}\s[^<>]{0,200}?(?:name|key)=[\"']",
        rf"[\"']{_ATTRIBUTES}>{_ELEMENTS}",
        '<setting name="DbPassword" type="x"><value>⟨hunter2x⟩</value></setting>',
        r"(?i)(?:name|key)=[\"']",
        _marked_up_by_attribute,
    ),
    _syntax(
        r">\s{0,8}",
        rf"\s{{0,8}}</(?:[A-Za-z0-9_\-]{{1,20}}:)?(?:key|name|t[dh]|dt)>{DRESS}\s{{0,40}}{DRESS}<[a-z][^<>]{{0,100}}>{_ELEMENTS}",
        "<key>ApiKey</key><string>⟨hunter2x⟩</string>",
        r"(?i)</(?:[a-z0-9_\-]+:)?(?:key|name|t[dh]|dt)>",
    ),
    _syntax(
        r"form-data;[^\r\n]{0,60}name=[\"']?",
        r"[\"']?[^\r\n]{0,100}(?:\r?\n[A-Za-z\-]{1,40}:[^\r\n]{0,200}){0,4}\r?\n\r?\n",
        'Content-Disposition: form-data; name="password"\r\n\r\n⟨hunter2x⟩\r\n--x',
        r"(?i)form-data;",
    ),
    _syntax("", r"(?:[\"'];|\|)s:[0-9]{1,6}:", 's:8:"password";s:8:"⟨hunter2x⟩";', r"[;|]s:[0-9]"),
    _syntax(
        "",
        rf"[\"']?(?:\s{{1,4}}[12&]?>{{1,2}}\s?[^\s<>]{{1,60}})?\s{{0,4}}{HERE}",
        "docker login --password-stdin <<< '⟨hunter2x⟩'",
        "<<",
    ),
    _syntax(
        r"\?[ \t]{1,4}[\"']?",
        rf"[\"']?[ \t]{{0,8}}\r?\n{NUMBERED}[ \t]{{0,40}}:[ \t]{{1,4}}",
        "? password\n: ⟨hunter2x",
        r"\?[ \t]",
    ),
    _syntax(
        "",
        r"[\"'](?:\s{0,8}\}){2}\s{0,4},\s{0,8}\{\s{0,8}[\"']key[\"']\s{0,4}:\s{0,4}[\"']value[\"'],\s{0,8}[\"']value[\"']\s{0,4}:\s{0,4}",
        '[{"key":"name","value":{"stringValue":"DB_PASS"}},{"key":"value","value":{"stringValue":"⟨hunter2x⟩"}}]',
        r"[\"']key[\"']\s*:\s*[\"']value[\"']",
    ),
    Place(
        r"(?i)\binto\s{1,8}[^\s()]{1,100}\s{0,8}\(([^()]+)\)\s{0,8}(?:output\s[^()]+)?values\s{0,8}",
        _TRACE,
        _sql_insert,
        "INSERT INTO users (name, password) VALUES ('app', '⟨hunter2x⟩')",
        r"(?i)values\s*\(",
    ),
    Place(
        r"[A-Za-z0-9_.*\-]+:(?:[0-9]{2,5}|\*):[^\s:\"']+:[^\s:\"']+:((?:[^\s\"'\\:]|\\[:\\])+)",
        r"(?i)pgpass",
        _pgpass_line,
        "cat .pgpass\ndb.test:5432:*:app:⟨hunter\\:2x",
        r"(?i)pgpass",
    ),
    Place(
        r"\b(?:stringData|data)[\"']?:\s{0,4}(?:\{|\n)",
        r"kind(?:[\s\"'\\:]|\\[nrt])*Secret",
        _kubernetes_secret,
        "apiVersion: v1\ndata:\n  url: ⟨aHR0cHM6Ly9hOmJAeC50ZXN0⟩\nkind: Secret",
        r"kind[\"']?:\s{0,4}[\"']?Secret\b",
    ),
)
