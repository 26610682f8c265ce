"""A summarizer that needs no model: it takes out of a session what agents write down themselves.

To-do lists, edited files, commands, decisions and last words are found by their shape; nothing is made up.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace

from analyzer.recovery.relay.checkpoint import Checkpoint
from analyzer.recovery.relay.transcript import SummarizerLimitError, Transcript, Turn

_LAST_WORDS = 3
_LAST_DECISIONS = 5
_WORDS_CHARS = 400
_EDITS = {"Write": "file_path", "Edit": "file_path", "MultiEdit": "file_path", "NotebookEdit": "notebook_path"}
_OPEN, _DONE = ("[ ]",), ("[x]", "[X]")
# Sessions are as long and as odd as somebody makes them: these patterns look at each character once.
_SENTENCE_END = re.compile(r"(?<=[.!?])\s|\n")
_DECISION = re.compile(r"\b(?:decided|decision|chose|instead of|we will use|I will use|I'll use)\b")


def summarize(transcript: Transcript, max_tokens: int) -> str:
    """A checkpoint of at most `max_tokens`; of long lists, the newest items stay.

    Raises:
        SummarizerLimitError: not even the shortest one fits.
    """
    checkpoint = _checkpoint(transcript)
    while checkpoint.tokens > max_tokens:
        shorter = replace(
            checkpoint,
            completed_work=_newer_half(checkpoint.completed_work),
            current_state=_newer_half(checkpoint.current_state),
            modified_files=_newer_half(checkpoint.modified_files),
        )
        if shorter == checkpoint:
            raise SummarizerLimitError(f"what remains to be done takes more than {max_tokens:,} tokens")
        checkpoint = shorter
    return checkpoint.render()


def _checkpoint(transcript: Transcript) -> Checkpoint:
    before = transcript.checkpoint
    said = [turn.text for turn in transcript.turns if turn.role == "assistant"]
    todos = _todos(transcript.turns)
    done = [*(before.completed_work if before else ()), *(item for item, state in todos if state == "completed")]
    done += [*_marked(_DONE, said), *_deeds(transcript.turns)]
    doing = [item for item, state in todos if state == "in_progress"]
    waiting = [item for item, state in todos if state not in ("completed", "in_progress")]
    left = _unique([*doing, *waiting, *_marked(_OPEN, said[-1:])])
    if not left and before is not None and not todos:
        left = before.remaining_work
    last = [_shortened(words) for words in said[-_LAST_WORDS:]]
    decisions = [f"Decided: {words}" for words in _decisions(said)[-_LAST_DECISIONS:]]
    state = [*(f"In progress: {item}" for item in doing), *decisions, *(f"Said: {words}" for words in last)]
    files = [*(before.modified_files if before else ()), *_files(transcript.turns)]
    return Checkpoint(
        _unique(done),
        _unique(state),
        _unique(files),
        left or ("Go on with the task as it was given.",),
        f"Continue from step 1 of remaining work. The last words were: {last[-1] if last else 'none'}",
    )


def _todos(turns: tuple[Turn, ...]) -> list[tuple[str, str]]:
    """`(item, state)` of the newest to-do list."""
    for turn in reversed(turns):
        todos = (turn.arguments or {}).get("todos") if turn.tool == "TodoWrite" else None
        if isinstance(todos, list):
            items = (item for item in todos if isinstance(item, dict) and item.get("content"))
            return [(str(item["content"]), str(item.get("status"))) for item in items]
    return []


def _deeds(turns: tuple[Turn, ...]) -> Iterator[str]:
    for turn in turns:
        arguments = turn.arguments or {}
        if turn.tool == "Bash" and isinstance(arguments.get("command"), str):
            yield f"Ran `{_shortened(arguments['command'], 120)}`"
        elif turn.tool in _EDITS and isinstance(arguments.get(_EDITS[turn.tool]), str):
            yield f"{'Wrote' if turn.tool == 'Write' else 'Edited'} {arguments[_EDITS[turn.tool]]}"


def _files(turns: tuple[Turn, ...]) -> Iterator[str]:
    for turn in turns:
        path = (turn.arguments or {}).get(_EDITS.get(turn.tool or "", ""))
        if isinstance(path, str) and path:
            yield path


def _marked(boxes: tuple[str, ...], texts: list[str]) -> list[str]:
    """The items of a list that follow one of these check boxes."""
    lines = (line.strip() for said in texts for line in said.splitlines())
    items = (line[1:].lstrip() if line[:1] in tuple("-*+") else line for line in lines)
    return [_shortened(item[3:]) for item in items if item.startswith(boxes) and item[3:].strip()]


def _decisions(texts: list[str]) -> list[str]:
    return [_shortened(words) for said in texts for words in _SENTENCE_END.split(said) if _DECISION.search(words)]


def _shortened(words: str, limit: int = _WORDS_CHARS) -> str:
    plain = " ".join(words.split())
    return plain if len(plain) <= limit else f"{plain[: limit - 2]} …"


def _unique(items: list[str]) -> tuple[str, ...]:
    """The items without repetitions, in the order of their last mention."""
    return tuple(reversed(dict.fromkeys(reversed(items))))


def _newer_half(items: tuple[str, ...]) -> tuple[str, ...]:
    return items[(len(items) + 1) // 2 :]
