"""What an error says, and where: each text that may count, matched once against all patterns of a ruleset.

Invariant: words of a run that went well never count; output of a failed command counts by whole lines and by its error
lines, the rest of it is an agent's prose; and what is strict about output counts as its last words alone.

The end of a stream counts, and the command's own words are told from words that it quotes.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import re2

from analyzer.classifier.reading.facts import MESSAGE_CHARS, STREAM_CHARS, Facts
from analyzer.classifier.reading.flattening import flat, flat_output, words_of
from analyzer.classifier.rules.index import Index
from analyzer.classifier.rules.ruleset import normal_name
from analyzer.redaction.automata import Late, all_spans_in, kept_until_fork, spans_in

_LOOKED_AT_CHARS = 300
"""Of a line; a longer one is nobody's farewell."""
_BORDER = frozenset("─━═-=_*╭╮╰╯│┃┄┈ \t")
_FENCES = ("```", "~~~")
_QUOTING = (">", "|", "│", "┃", "+", "`", '"', "'")
"""What stands before quoted lines: of a mail, a table, a box, a diff, code."""

_FAREWELL = Late(
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
"""What command lines of agents, and those who start them, print behind their last words."""

_SPEAKER = (
    r"(?:(?:the|this|my|your|an?|user|last|first) ){0,3}(?:users?(?:'s)?|human|system|prompts?|inputs?|instructions?"
    r"|tasks?|tool(?: result| output)?|output|requests?|questions?|messages?|lines?|logs?|texts?|examples?|you|me|q)"
)
_SPEAKS = Late(
    rf"(?ai)[\[(<#*\s]{{0,8}}{_SPEAKER}[\])>*\s]{{0,8}}(?:[:>»\])]|\Z)"
    r"|[$%#❯+>] \S"
    r"|[⏺●•] ?\w{1,40}\("
)
"""The beginning of a line after which somebody else speaks: a role, a shell's prompt, a call of a tool."""
_LEADS_ON = Late(
    r"(?ai)\?[\"')\s*]*\Z"
    r"| (?:is|was|are|were|say|says|said|reads?|prints?|printed|shows?|showed|as follows|for example|below)\W*\Z"
)
"""The end of a question, or of a sentence that goes on in the next line."""
_INSTRUCTS = Late(
    r"(?ai)(?:\A|[.;:!] )(?:(?:please|now|then|just|(?:can|could|would|will) you) ){0,2}"
    r"(?:explain|describe|translate|summari[sz]e|classify|interpret|parse|analy[sz]e|repeat|echo|print|say|quote|tell"
    r"|what|why|when|how|who|consider|given|suppose|here(?: is|'s| are)|e\.g\.)\b"
)
"""Words that tell an agent what to do with a text."""
_OF_OTHERS = Late(
    r"(?ai)\b(?:you|your|(?:to|for|with) (?:me|us)|(?:my|our) (?:\w+ )?(?:agent|terminal|screen|logs?|console|run))\b"
    r"|\b(?:this|these|(?:the )?following|the next|such an?) (?:\w+ ){0,3}"
    r"(?:lines?|messages?|texts?|errors?|outputs?|logs?|strings?|sentences?|words|signature|snippet)\b"
)
"""Words of somebody who is not at work: of what is theirs, or of a text that follows."""
_OWN_WORK = Late(r"(?ai)(?:i|i'\w{1,9}|let me|let's|now|next|\w{1,20}ing)\b")
"""The beginning of a line in which an agent speaks of its own work."""
_LABEL = Late(r"(?ai)[\w. -]{0,40}(?:error|exception|fatal|failed|failure)\b.*")


def last_line(text: str) -> str:
    """The last line of a stream, blank lines, borders and farewells left out; empty where there is none."""
    lines = text.splitlines()
    place = _place(lines)
    return lines[place].strip() if place >= 0 else ""


def last_words(text: str) -> str:
    """The last line of a stream where it is the command's own; empty where the command quotes it.

    Quoted is what stands in a block of code, behind a mark of quoting or far to the right, and what a line before it
    introduces: a sentence that ends in a colon, and what `_introduces` names.
    """
    lines = text.splitlines()
    place = _place(lines)
    if place < 0:
        return ""
    line = lines[place]
    if line.lstrip().startswith(_QUOTING) or line.startswith(("    ", "\t")):
        return ""
    if sum(each.lstrip().startswith(_FENCES) for each in lines[:place]) % 2:
        return ""
    before = next((each.strip() for each in reversed(lines[:place]) if each.strip()), "")[-_LOOKED_AT_CHARS:]
    if _introduces(before):
        return ""
    if before.endswith(":") and before.count(" ") >= 2 and not _LABEL.fullmatch(before):
        return ""
    return line.strip()


def _introduces(line: str) -> bool:
    """Tell whether the text after a line is somebody else's: quoted, asked about, or to be worked on."""
    if _SPEAKS.match(line) or _LEADS_ON.search(line) or _INSTRUCTS.search(line):
        return True
    return not _OWN_WORK.match(line) and bool(_OF_OTHERS.search(line))


def _place(lines: list[str]) -> int:
    for place in range(len(lines) - 1, -1, -1):
        line = lines[place].strip()
        if line and not _BORDER.issuperset(line) and not _FAREWELL.fullmatch(line[:_LOOKED_AT_CHARS]):
            return place
    return -1


LOOSE_CHARS = 600
"""Errors state their cause early: in a longer text only whole lines and names count, unless a status says
that it is one."""

SHORT_CHARS = 200
"""A failed command that prints one line of this length on stdout prints its error there."""

_SAYING_NO_CAUSE = (None, "success", "error_during_execution")
"""Subtypes of a result record that leave open why the run failed."""

_ERROR_LINE = r"(?mi)^[\s>*•⎿│|\[(-]*(?:api error|[a-z_.]*(?:error|exception)|fatal)\b\s*[:(\[\d][^\n]*"


@kept_until_fork
def _error_line() -> Any:
    return re2.compile(_ERROR_LINE.encode())


class Passage(NamedTuple):
    """One text that was matched, and what was found in it."""

    text: bytes
    found: Sequence[int]
    """Pattern numbers, in the order in which they were found."""
    counting: int
    """Mask of what counts in this text."""


def succeeded(facts: Facts) -> bool:
    """Whether this is a run that went well, whose words are no error's."""
    if facts.is_error is not None:
        return not facts.is_error
    return facts.exit_code == 0


class Message(NamedTuple):
    """What was matched in a message, and all that its text decides of the verdict."""

    text: bytes
    found: Sequence[int]
    loose: bool
    """Whether loose words count, too."""
    stated: int | None
    """The status that the text states, where none is given."""
    name: str
    """The name that it begins with; empty where it begins with none."""


def heard_in(facts: Facts, index: Index) -> Message | None:
    """What the message of an error says; None where it has none."""
    if not facts.message:
        return None
    text = flat(facts.message[:MESSAGE_CHARS]) if facts.subtype is None else _message(facts, index, index.mentions)
    found = index.found(text)
    status = facts.status
    stated = None
    if status is None and not index.stating.isdisjoint(found):
        stated = _stated_status(index, text, found)
    loose = len(text) <= LOOSE_CHARS or (status is not None and status >= 400)
    return Message(text, found, loose, stated, _first_name(text))


def listen(
    facts: Facts, index: Index, passages: list[Passage] | None = None, message: Message | None = None
) -> tuple[int, int | None, int]:
    """What the texts of an error say, as bits of the index; its status, as given, else as a text states it; its names.

    The last is the mask of the rules that know its code, its type, its class or the name that its message begins with.
    With `passages`, texts are added there; `message` is what `heard_in` gives, where that is known. Ask only for facts
    of a run that did not go well.
    """
    heard = named = 0
    status = facts.status
    message = message or heard_in(facts, index)
    strange: list[str] = []
    if message is not None:
        counting = index.words if message.loose else index.strict
        heard, status = _weigh(index, message.text, message.found, counting, status, passages, status is None)
        if message.name:
            named = _known(index.by_name.get(normal_name(message.name)), message.name, strange)
    if facts.code:
        named |= _known(index.named(facts.code, facts.provider), facts.code, strange)
    if facts.type:
        named |= _known(index.named(facts.type, facts.provider), facts.type, strange)
    if facts.exception_class:
        named |= _known(index.by_name.get(normal_name(facts.exception_class)), facts.exception_class, strange)
    for name in strange:
        counting = index.words & ~index.status
        heard |= _match(index, words_of(name).encode(), counting, status, passages, False)[0]
    if facts.stderr or facts.stdout:
        more, status = _listen_to_streams(facts, index, status, passages)
        heard |= more
    return heard, status, named


def _known(mask: int | None, name: str, strange: list[str]) -> int:
    """The rules that know a name; where none does, its words may say it: `OPENAI_RATE_LIMIT_EXCEEDED`."""
    if mask is None:
        strange.append(name)
        return 0
    return mask


def _listen_to_streams(
    facts: Facts, index: Index, status: int | None, passages: list[Passage] | None
) -> tuple[int, int | None]:
    """A stream counts by its strict kinds of words; all words count in its error lines, and where it is short."""
    heard = 0
    failed = _failed(facts)
    speaking = index.stream_failed if failed else index.stream
    for stream, is_stdout in ((facts.stderr, False), (facts.stdout, True)):
        if not stream:
            continue
        if is_stdout and not failed:
            # It says nothing about the error; when to come back may still stand there.
            heard |= index.timely
            continue
        text, mentioned = _without(index.mentions, stream)
        alone = _alone(text) if is_stdout else len(text) <= LOOSE_CHARS
        kinds = index.words if alone else index.lines if is_stdout else index.strict
        more, status = _match(index, text, speaking & kinds & ~index.final, status, passages, True)
        heard |= more
        own = _own_limit(facts, index, is_stdout) if mentioned else b""
        if own:
            counting = speaking & (index.final | index.guards | index.timely)
            heard |= _match(index, own, counting, status, passages, False)[0]
        lines = b"" if alone else b"\n".join([text[slice(*spans[0])] for spans in all_spans_in(_error_line(), text)])
        if lines:
            more, status = _match(index, lines, speaking & index.words & ~index.final, status, passages, False)
            heard |= more
    return heard, status


def timed_texts(facts: Facts, index: Index) -> Iterator[bytes]:
    """The texts in which an error says when to come back, those that matter most first.

    The message, then the output: its last words, of a limit first, before the times that may be quoted in it.
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
    """Whether output holds words that count only as the last ones of a run, and none that do."""
    if index.mentions is None or any(_own_limit(facts, index, is_stdout) for is_stdout in (False, True)):
        return False
    return any(_without(index.mentions, text)[1] for text in (facts.stderr, facts.stdout) if text)


def _message(facts: Facts, index: Index, mentions: Any) -> bytes:
    """The message as it counts: without mentions of a limit where it is an agent's last words, which may be prose."""
    message = (facts.message or "")[:MESSAGE_CHARS]
    text = flat(message)
    if facts.subtype is None or mentions is None or spans_in(mentions, text) is None:
        return text
    lines = [flat(last_words(part)) for part in (message.strip().partition("\n")[0], message)]
    own = next((each for each in lines if _in_place(index, each, labelled=True)), b"")
    rest: bytes = mentions.sub(b"", text)
    return rest + b"\n" + own


def _in_place(index: Index, line: bytes, *, labelled: bool) -> bool:
    """Whether a line is a limit's own; `labelled`: or an error's that tells of one."""
    if any(index.weights[number] & index.final for number in index.found(line)):
        return True
    return labelled and spans_in(index.mentions, line) is not None and _error_line().fullmatch(line) is not None


def _failed(facts: Facts) -> bool:
    return facts.exit_code is not None and facts.exit_code != 0


def _without(mentions: Any, stream: str) -> tuple[bytes, bool]:
    """A stream without the words that count only as the last ones of a run, and whether it has any.

    An agent reads, echoes and prints such lines. Elsewhere they are a mention, which says nothing of this run.
    """
    text = flat_output(stream[:STREAM_CHARS])
    mentioned = mentions is not None and spans_in(mentions, text) is not None
    return mentions.sub(b"", text) if mentioned else text, mentioned


def _own_limit(facts: Facts, index: Index, is_stdout: bool) -> bytes:
    """The line of a limit that ended a failed command, as this stream says at its end; empty where none did.

    This is the one place that tells a limit's own line from a mention of it.
    """
    stream, other = (facts.stdout, facts.stderr) if is_stdout else (facts.stderr, facts.stdout)
    if not stream or index.mentions is None or not _failed(facts):
        return b""
    own = flat(last_words(stream))
    if spans_in(index.mentions, own) is None:
        return b""
    if facts.is_error and (facts.message or facts.subtype not in _SAYING_NO_CAUSE):
        return b""  # the agent's own record tells how it ended
    ending = flat_output(last_line(other)) if other else b""
    if ending and _error_line().fullmatch(ending) is not None and b"limit" not in ending.lower():
        return b""  # the other stream tells another cause
    return own if _in_place(index, own, labelled=False) else b""


def _alone(text: bytes) -> bool:
    """Whether this is all that a failed command had to say on stdout."""
    return len(text) <= SHORT_CHARS and b"\n" not in text and text[:1] not in b"{["


def _match(
    index: Index, text: bytes, counting: int, status: int | None, passages: list[Passage] | None, prose: bool
) -> tuple[int, int | None]:
    """What counts in a text, and the status; where it may be prose and begins like it, loose words do not count."""
    return _weigh(index, text, index.found(text), counting, status, passages, prose)


def _weigh(
    index: Index,
    text: bytes,
    found: Sequence[int],
    counting: int,
    status: int | None,
    passages: list[Passage] | None,
    prose: bool,
) -> tuple[int, int | None]:
    if not found:
        return 0, status
    heard = 0
    weights = index.weights
    for number in found:
        heard |= weights[number]
    if prose and heard >= index.prose:
        counting &= index.not_prose
    heard &= counting
    if status is None and heard >= index.status:
        status = _stated_status(index, text, found)
    if passages is not None:
        passages.append(Passage(text, found, counting))
    return heard, status


def _stated_status(index: Index, text: bytes, found: Sequence[int]) -> int | None:
    for number in found:
        if number in index.stating:
            spans = spans_in(index.patterns[number].regex, text)
            if spans is not None:
                return int(text[slice(*spans[1])])
    return None


def leading_name(message: str) -> str:
    """The normal name of a message that is one name, or begins with one and a colon, as logs print exceptions."""
    return normal_name(_first_name(flat(message[:MESSAGE_CHARS])))


_COLON = ord(":")


def _first_name(text: bytes) -> str:
    space = text.find(b" ")
    if (0 < space < 120 and text[space - 1] != _COLON and b"\n" not in text[:space]) or not text[:1].isalpha():
        return ""
    first = text[:120].split(None, 1)[0]
    return first.rstrip(b":").decode("utf-8", "replace") if first.endswith(b":") or len(first) == len(text) else ""
