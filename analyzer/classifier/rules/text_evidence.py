"""The evidence in the texts of an error: each text that may count is matched once against all patterns of a ruleset.

Invariant: words of a run that went well never count. Output of a failed command counts by whole lines and by its error
lines, because the rest of it may be an agent's prose. Rules with `strict_streams` count output only by its last words,
and only if these are the command's own and not quoted.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import islice
from typing import Any, NamedTuple

import re2

from analyzer.classifier.reading.facts import MESSAGE_CHARS, STREAM_CHARS, Facts
from analyzer.classifier.reading.flattening import flat, flat_output, words_of
from analyzer.classifier.rules.index import Index
from analyzer.classifier.rules.ruleset import normal_name
from analyzer.redaction.automata import LazyPattern, all_spans_in, kept_until_fork, spans_in

_LOOKED_AT_CHARS = 300
"""The characters of a line that are looked at; a longer line is no closing line of a program."""
_BORDER = frozenset("─━═-=_*╭╮╰╯│┃┄┈ \t")
_FENCES = ("```", "~~~")
_QUOTING = (">", "|", "│", "┃", "+", "`", '"', "'")
"""Marks before quoted lines: of a mail, a table, a box, a diff, code."""

_FAREWELL = LazyPattern(
    r"(?ai)(?:[•·∙*-] )?(?:"
    r"/(?:upgrade|extra-usage|login|usage|rate-limit-options)\b.*"
    r"|(?:please )?upgrade (?:to|your)\b.*"
    r"|(?:good)?bye[.!]*"
    r"|total (?:cost|duration|code changes|tokens)\b.*|tokens used\b.*|usage by model:|[\d.,]+"
    r"|session(?: id)?: \S+"
    r"|(?:to )?(?:resume|continue) this (?:session|conversation)\b.*|claude (?:--resume|--continue|-r|-c)\b.*"
    r"|(?:[\w.:/ -]{1,60} )?exit(?:ed|ing)?(?: with)?(?: code| status)?[: ]\d{1,3}[.)]?"
    r")"
)
"""Lines that command lines of agents, and programs that start them, print after their last words."""

_SPEAKER = (
    r"(?:(?:the|this|my|your|an?|user|last|first) ){0,3}(?:users?(?:'s)?|human|system|prompts?|inputs?|instructions?"
    r"|tasks?|tool(?: result| output)?|output|requests?|questions?|messages?|lines?|logs?|texts?|examples?|you|me|q)"
)
_SPEAKS = LazyPattern(
    rf"(?ai)[\[(<#*\s]{{0,8}}{_SPEAKER}[\])>*\s]{{0,8}}(?:[:>»\])]|\Z)"
    r"|[$%#❯+>] \S"
    r"|[⏺●•] ?\w{1,40}\("
)
"""The beginning of a line after which somebody else speaks: a role, a shell's prompt, a tool call."""
_LEADS_ON = LazyPattern(
    r"(?ai)\?[\"')\s*]*\Z"
    r"| (?:is|was|are|were|say|says|said|reads?|prints?|printed|shows?|showed|as follows|for example|below)\W*\Z"
)
"""The end of a question, or of a sentence that goes on in the next line."""
_INSTRUCTS = LazyPattern(
    r"(?ai)(?:\A|[.;:!] )(?:(?:please|now|then|just|(?:can|could|would|will) you) ){0,2}"
    r"(?:explain|describe|translate|summari[sz]e|classify|interpret|parse|analy[sz]e|repeat|echo|print|say|quote|tell"
    r"|what|why|when|how|who|consider|given|suppose|here(?: is|'s| are)|e\.g\.)\b"
)
"""Words that tell an agent what to do with a text."""
_OF_OTHERS = LazyPattern(
    r"(?ai)\b(?:you|your|(?:to|for|with) (?:me|us)|(?:my|our) (?:\w+ )?(?:agent|terminal|screen|logs?|console|run))\b"
    r"|\b(?:this|these|(?:the )?following|the next|such an?) (?:\w+ ){0,3}"
    r"(?:lines?|messages?|texts?|errors?|outputs?|logs?|strings?|sentences?|words|signature|snippet)\b"
)
"""Words of somebody who is not at work: about their own things, or about a text that follows."""
_OWN_WORK = LazyPattern(r"(?ai)(?:i|i'\w{1,9}|let me|let's|now|next|\w{1,20}ing)\b")
"""The beginning of a line in which an agent speaks of its own work."""
_LABEL = LazyPattern(r"(?ai)[\w. -]{0,40}(?:error|exception|fatal|failed|failure)\b.*")


def last_line(text: str) -> str:
    """Return the last line of a stream without blank lines, borders and farewells.

    Empty if there is none.
    """
    lines = text.splitlines()
    number = _last_line_number(lines)
    return lines[number].strip() if number >= 0 else ""


def last_words(text: str) -> str:
    """Return the last line of a stream if it is the command's own; empty if the command quotes it.

    A line is quoted in a block of code, after a mark of quoting, with an indent of four blanks, and after a line that
    introduces it: a sentence that ends in a colon, or a line for which `_introduces` is true.
    """
    lines = text.splitlines()
    number = _last_line_number(lines)
    if number < 0:
        return ""
    line = lines[number]
    if line.lstrip().startswith(_QUOTING) or line.startswith(("    ", "\t")):
        return ""
    earlier = lines[:number]
    if sum(text.lstrip().startswith(_FENCES) for text in earlier) % 2:
        return ""
    before = next((text.strip() for text in reversed(earlier) if text.strip()), "")[-_LOOKED_AT_CHARS:]
    if _introduces(before):
        return ""
    if before.endswith(":") and before.count(" ") >= 2 and not _LABEL.fullmatch(before):
        return ""
    return line.strip()


def _introduces(line: str) -> bool:
    """Return true if the text after a line is somebody else's:
    quoted, asked about, or to be worked on.
    """
    if _SPEAKS.match(line) or _LEADS_ON.search(line) or _INSTRUCTS.search(line):
        return True
    return not _OWN_WORK.match(line) and bool(_OF_OTHERS.search(line))


def _last_line_number(lines: list[str]) -> int:
    for number in range(len(lines) - 1, -1, -1):
        line = lines[number].strip()
        if line and not _BORDER.issuperset(line) and not _FAREWELL.fullmatch(line[:_LOOKED_AT_CHARS]):
            return number
    return -1


LOOSE_CHARS = 600
"""Errors state their cause early: in a longer text only whole lines and names count, unless a
status says that it is an error.
"""

SHORT_CHARS = 200
"""The longest single line on stdout that is read as the error of a failed command."""

_SUBTYPES_WITHOUT_CAUSE = (None, "success", "error_during_execution")
"""Subtypes of a result record that leave open why the run failed."""

_ERROR_LINE = r"(?mi)^[\s>*•⎿│|\[(-]*(?:api error|[a-z_.]*(?:error|exception)|fatal)\b\s*[:(\[\d][^\n]*"


@kept_until_fork
def _error_line() -> Any:
    return re2.compile(_ERROR_LINE.encode())


class Passage(NamedTuple):
    """One text that was matched, and the patterns that matched it."""

    text: bytes
    numbers: Sequence[int]
    """Pattern numbers, in the order in which they matched."""
    counting: int
    """The mask of the bits that count in this text."""


def succeeded(facts: Facts) -> bool:
    """Return true for a run that went well, whose words are not evidence of an error."""
    if facts.is_error is not None:
        return not facts.is_error
    return facts.exit_code == 0


_NAME = r"(?-i:[A-Z][a-z]+(?:[A-Z][A-Za-z]*)+|[a-z]+(?:[A-Z][a-z]+)+|[a-z]+(?:_[a-z]+)+|[A-Z]+(?:_[A-Z]+)+)"
_CODE = (
    r"(?i)\b(?:code|status|status_?code|reason|type|error_?code|\w{0,40}runtimeexception|exceptions?)[\x22']?\s?[:=.]\s?"
    rf"[\x22']?(?:[a-z]\w*\.){{0,4}}([a-z][a-z]\w{{1,60}})\b|[(\[]({_NAME})[)\]]|(?<![^\s.:])({_NAME})(?=:|$)"
    rf"|\berror:? ?[\x22'(:]?({_NAME})\b"
)
"""The places at which a program writes a code into a text: `code: X`, `(X)`, `X: …`, `error: X`."""
_CODES = LazyPattern(_CODE.encode())
_MOST_CODES = 4
_REPORT = (
    r"(?i)(?m:^)[\s>*•⎿│|\[(\-–✗✘×⚠❌]*(?:[a-z_.]*(?:error|exception)|fatal|failed|failure|panic)\b[^\w\n]{0,3}[:(\[\-]"
    r"|(?-i:\b[A-Z]\w*(?:Error|Exception)\b) ?[:(]"
    r"|\b(?:error|failed|exception|fatal|failure)\b[\x22']?(?: [\w/]+){0,4} ?[:=]|\bcaused by:"
    r"|(?-i:\bE[A-Z]{4,}\b|\bUND_ERR|\bERR_[A-Z])"
    r"|(?m:^)\W*(?:http(?:/[\d.]+)? |status(?:[ _]code)?:? )?[45]\d\d(?:[:,]| [\-–{\[<]| (?-i:[A-Z]))"
    r"|[{,] ?[\x22']?[\w-]+[\x22']? ?: ?[\x22'\d{\[]|\{ ?[\x22']?\w+[\x22']? ?:"
)
"""What a program writes around an error: a label, an exception, an errno, a status, a body."""


@kept_until_fork
def _may_have_codes() -> Any:
    # RE2 looks neither behind nor ahead; it passes quickly over the texts without a code.
    return re2.compile(_CODE.replace(r"(?<![^\s.:])", r"(?:[\s.:]|^)").replace("(?=", "(?:").encode())


@kept_until_fork
def _report() -> Any:
    return re2.compile(_REPORT.encode())


class Message(NamedTuple):
    """The patterns that matched a message, and all that its text contributes to the verdict."""

    text: bytes
    numbers: Sequence[int]
    loose: bool
    """True if loose words count, too."""
    stated: int | None
    """The status that the text states, if the error has none."""
    telling: bool
    """True if the text only speaks of errors."""
    reported: bool
    """True if it has the mark of a program's report."""
    name: str
    """The name that it begins with; empty if there is none."""
    codes: tuple[str, ...]
    """Names that it has where programs write a code."""


def match_message(facts: Facts, index: Index) -> Message | None:
    """Match the message of an error; None if it has none."""
    if not facts.message:
        return None
    text = flat(facts.message[:MESSAGE_CHARS]) if facts.subtype is None else _message(facts, index, index.mentions)
    numbers = index.numbers_in(text)
    status = facts.status
    stated = None
    if (status is None or status >= WRAPPED) and not index.stating.isdisjoint(numbers):
        stated = _stated_status(index, text, numbers)
    loose = len(text) <= LOOSE_CHARS or (status is not None and status >= 400)
    telling = status is None and not index.telling.isdisjoint(numbers)
    reported = spans_in(_report(), text) is not None
    codes = codes_in(text) if loose and not telling else ()
    return Message(text, numbers, loose, stated, telling, reported, _first_name(text), codes)


def codes_in(text: bytes) -> tuple[str, ...]:
    """Return the first names in a text that stand where programs write a code."""
    if spans_in(_may_have_codes(), text) is None:
        return ()
    names = (group for match in islice(_CODES.finditer(text), _MOST_CODES) for group in match.groups() if group)
    return tuple(dict.fromkeys(name.decode("utf-8", "replace") for name in names))


def match_texts(
    facts: Facts, index: Index, passages: list[Passage] | None = None, message: Message | None = None
) -> tuple[int, int | None, int]:
    """Match the texts of an error that did not succeed.

    Returns the bits of the texts (`Index`), the status as given or stated by a text, and the mask of the rules that
    know its code, type, class or the name that its message begins with. Matched texts are added to `passages`;
    `message` is the result of `match_message`, if the caller has it.
    """
    text_mask = name_mask = 0
    status = facts.status
    message = message or match_message(facts, index)
    unknown_names: list[str] = []
    if message is not None:
        counting = index.words if message.loose else index.strict
        text_mask, status = _weigh(index, message.text, message.numbers, counting, status, passages, status is None)
        if message.reported:
            text_mask |= index.report
        if message.name:
            name_mask = _rules_of_name(index.by_name.get(normal_name(message.name)), message.name, unknown_names)
        for name in message.codes:
            mask = _rules_of_name(index.named(name, facts.provider), name, unknown_names)
            text_mask |= mask << index.text_shift
    if facts.code:
        name_mask |= _rules_of_name(index.named(facts.code, facts.provider), facts.code, unknown_names)
    if facts.type:
        name_mask |= _rules_of_name(index.named(facts.type, facts.provider), facts.type, unknown_names)
    if facts.exception_class:
        name_mask |= _rules_of_name(
            index.by_name.get(normal_name(facts.exception_class)), facts.exception_class, unknown_names
        )
    for name in unknown_names:
        counting = index.words & ~index.status
        words = words_of(name).encode()
        text_mask |= _weigh(index, words, index.numbers_in_name(words), counting, status, passages, False)[0]
    if facts.stderr or facts.stdout:
        more, status = _match_streams(facts, index, status, passages)
        text_mask |= more
    return text_mask, status, name_mask


def worded_texts(facts: Facts, index: Index, message: Message | None) -> Iterator[str]:
    """Yield the texts of an error in which loose words count."""
    if succeeded(facts):
        return
    message = message or match_message(facts, index)
    if message is not None and message.loose and not message.telling:
        yield message.text.decode("utf-8", "replace")
    for name in (facts.code, facts.type, *(message.codes if message is not None else ())):
        if name and index.named(name, facts.provider) is None:
            yield words_of(name)
    if _failed(facts):
        for stream, is_stdout in ((facts.stderr, False), (facts.stdout, True)):
            text = flat_output(stream[:STREAM_CHARS]) if stream else b""
            is_short = _is_whole_output(text) if is_stdout else len(text) <= LOOSE_CHARS
            if is_short and not any(index.weights[number] & index.prose for number in index.numbers_in(text)):
                yield text.decode("utf-8", "replace")


def _rules_of_name(mask: int | None, name: str, unknown_names: list[str]) -> int:
    """Return the mask of the rules that know a name; add the name to `unknown_names` if it is None.

    The words of a name that no rule knows are evidence, too: `OPENAI_RATE_LIMIT_EXCEEDED`.
    """
    if mask is None:
        unknown_names.append(name)
        return 0
    return mask


def _match_streams(
    facts: Facts, index: Index, status: int | None, passages: list[Passage] | None
) -> tuple[int, int | None]:
    """Match the output of a command.

    A stream counts by its strict kinds of words; all words count in its error lines, and in short
    output.
    """
    text_mask = 0
    failed = _failed(facts)
    speaking = index.stream_failed if failed else index.stream
    for stream, is_stdout in ((facts.stderr, False), (facts.stdout, True)):
        if not stream:
            continue
        if is_stdout and not failed:
            # It says nothing about the error, but may say when to come back.
            text_mask |= index.timely
            continue
        text, mentioned = _without(index.mentions, stream)
        is_short = _is_whole_output(text) if is_stdout else len(text) <= LOOSE_CHARS
        kinds = index.lines if is_stdout else index.strict
        if is_short:
            kinds = index.words
        more, status = _match(index, text, speaking & kinds & ~index.final, status, passages, True)
        text_mask |= more
        own = _own_limit(facts, index, is_stdout) if mentioned else b""
        if own:
            counting = speaking & (index.final | index.guards | index.timely)
            text_mask |= _match(index, own, counting, status, passages, False)[0]
        lines = b"" if is_short else b"\n".join([text[slice(*spans[0])] for spans in all_spans_in(_error_line(), text)])
        if lines:
            more, status = _match(index, lines, speaking & index.words & ~index.final, status, passages, False)
            text_mask |= more
    return text_mask, status


def timed_texts(facts: Facts, index: Index) -> Iterator[bytes]:
    """Yield the texts that may say when to come back, the most important first.

    First the message, then the output: its last words, those about a limit first, before times that
    may be quoted in it.
    """
    if facts.message:
        yield _message(facts, index, index.mentions_with_times)
    ends: list[bytes] = []
    texts: list[bytes] = []
    for stream, is_stdout in ((facts.stderr, False), (facts.stdout, True)):
        if stream:
            text, mentioned = _without(index.mentions_with_times, stream)
            own = _own_limit(facts, index, is_stdout) if mentioned else b""
            texts.append(text)
            ends.append(own or last_line(text.decode("utf-8", "replace")).encode())
    yield from sorted(ends, key=lambda line: b"limit" not in line.lower())
    yield from texts


def mentions(facts: Facts, index: Index) -> bool:
    """Return true if output holds words that count only as the last ones of a run,
    and none that do.
    """
    if index.mentions is None or any(_own_limit(facts, index, is_stdout) for is_stdout in (False, True)):
        return False
    return any(_without(index.mentions, text)[1] for text in (facts.stderr, facts.stdout) if text)


def _message(facts: Facts, index: Index, mentions: Any) -> bytes:
    """Return the message as it counts.

    An agent's last words may be prose, so they count without mentions of a limit.
    """
    message = (facts.message or "")[:MESSAGE_CHARS]
    text = flat(message)
    if facts.subtype is None or mentions is None or spans_in(mentions, text) is None:
        return text
    lines = [flat(last_words(part)) for part in (message.strip().partition("\n")[0], message)]
    own = next((line for line in lines if _is_own_line(index, line, labelled=True)), b"")
    rest: bytes = mentions.sub(b"", text)
    return rest + b"\n" + own


def _is_own_line(index: Index, line: bytes, *, labelled: bool) -> bool:
    """Return true for the line that a limit itself prints.

    With `labelled`, for an error line about a limit too.
    """
    if any(index.weights[number] & index.final for number in index.numbers_in(line)):
        return True
    return labelled and spans_in(index.mentions, line) is not None and _error_line().fullmatch(line) is not None


def _failed(facts: Facts) -> bool:
    return facts.exit_code is not None and facts.exit_code != 0


def _without(mentions: Any, stream: str) -> tuple[bytes, bool]:
    """Return a stream without the words that count only as the last ones of a run, and true if it has any.

    An agent reads, echoes and prints such lines. Before the end they are a mention, which says nothing about this run.
    """
    text = flat_output(stream[:STREAM_CHARS])
    mentioned = mentions is not None and spans_in(mentions, text) is not None
    return mentions.sub(b"", text) if mentioned else text, mentioned


def _own_limit(facts: Facts, index: Index, is_stdout: bool) -> bytes:
    """Return the line of a limit at the end of this stream if the limit ended a failed command; empty otherwise.

    Only this function distinguishes a limit's own line from a mention of it.
    """
    stream, other = (facts.stdout, facts.stderr) if is_stdout else (facts.stderr, facts.stdout)
    if not stream or index.mentions is None or not _failed(facts):
        return b""
    own = flat(last_words(stream))
    if spans_in(index.mentions, own) is None:
        return b""
    if facts.is_error and (facts.message or facts.subtype not in _SUBTYPES_WITHOUT_CAUSE):
        return b""  # the agent's own record says how it ended
    ending = flat_output(last_line(other)) if other else b""
    if ending and _error_line().fullmatch(ending) is not None and b"limit" not in ending.lower():
        return b""  # the other stream names another cause
    return own if _is_own_line(index, own, labelled=False) else b""


def _is_whole_output(text: bytes) -> bool:
    """Return true for a text that is one short line and no JSON: all that a failed command printed."""
    return len(text) <= SHORT_CHARS and b"\n" not in text and text[:1] not in b"{["


def _match(
    index: Index, text: bytes, counting: int, status: int | None, passages: list[Passage] | None, prose: bool
) -> tuple[int, int | None]:
    """Match a text, and return the bits that count and the status.

    If it may be prose and begins like it, loose words do not count.
    """
    return _weigh(index, text, index.numbers_in(text), counting, status, passages, prose)


def _weigh(
    index: Index,
    text: bytes,
    numbers: Sequence[int],
    counting: int,
    status: int | None,
    passages: list[Passage] | None,
    prose: bool,
) -> tuple[int, int | None]:
    if not numbers:
        return 0, status
    text_mask = 0
    weights = index.weights
    for number in numbers:
        text_mask |= weights[number]
    if prose and text_mask >= index.prose:
        counting &= index.not_prose
    text_mask &= counting
    if (status is None or status >= WRAPPED) and text_mask >= index.status:
        status = _inner(status, _stated_status(index, text, numbers))
    if passages is not None:
        passages.append(Passage(text, numbers, counting))
    return text_mask, status


def _inner(outer: int | None, stated: int | None) -> int | None:
    """Return the status of the cause: a 4xx that a text states is the cause of a 5xx around it."""
    return stated if outer is None or (stated is not None and 400 <= stated < WRAPPED) else outer


WRAPPED = 500
"""Statuses from this one on may be those of a program that passes another's failure on."""


def _stated_status(index: Index, text: bytes, numbers: Sequence[int]) -> int | None:
    for number in numbers:
        if number in index.stating:
            spans = spans_in(index.patterns[number].regex, text)
            if spans is not None:
                return int(text[slice(*spans[1])])
    return None


def leading_name(message: str) -> str:
    """Return the normal name that a message consists of,
    or begins with before a colon, as logs print exceptions.
    """
    return normal_name(_first_name(flat(message[:MESSAGE_CHARS])))


_COLON = ord(":")


def _first_name(text: bytes) -> str:
    space = text.find(b" ")
    if (0 < space < 120 and text[space - 1] != _COLON and b"\n" not in text[:space]) or not text[:1].isalpha():
        return ""
    first = text[:120].split(None, 1)[0]
    return first.rstrip(b":").decode("utf-8", "replace") if first.endswith(b":") or len(first) == len(text) else ""
