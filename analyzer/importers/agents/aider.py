"""aider's chat histories (`.aider.chat.history.md`): text, in which quoted lines are aider's own words.

Only the head of a session has a time, without a zone.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from analyzer.events import Event
from analyzer.events.model import derived_id
from analyzer.importers.base import Block, Hit, Source
from analyzer.importers.failures import first_digits
from analyzer.importers.records import MAIN, RecordReader, kept, moment_here

_FILE = ".aider.chat.history.md"
"""The name of a history, which lies in the folder of the work."""
_HEAD = "# aider chat started at "
_ERROR = re.compile(r"^> litellm\.(\w{1,60}): (.*)$")
_RETRY = re.compile(r"^> Retrying in ([\d.]{1,12}) seconds")
_OVERFLOW = re.compile(r"^> Model \S{1,200} has hit a token limit!")
_VERSION = re.compile(r"^> Aider v(\S{1,40})")
_MODEL = re.compile(r"^> (?:Main model|Model): (\S{1,200})")
_TELLING = re.compile(
    rb"\n(?:# aider chat started at |> (?:litellm\.|Retrying in |Model|Main model|\^C|Tokens:|Aider v))"
)
"""Beginnings of the lines that matter while no chain of failures is open."""
_CODE = re.compile(r'"code": ?(\d{3})\b|\bstatus(?: code)?:? (\d{3})\b|Error code: (\d{3})\b')

PROVIDERS = {
    **{name: name for name in ("anthropic", "azure", "deepseek", "groq", "mistral", "ollama", "openrouter", "xai")},
    "bedrock": "aws",
    "gemini": "google",
    "ollama_chat": "ollama",
    "vertex_ai": "google",
}
"""Providers by LiteLLM's prefix of a model's name (docs.litellm.ai/docs/providers, August 2026).

`openai/` stands for any server with OpenAI's protocol, so that it names no provider.
"""


class AiderReader(RecordReader, name="aider", agent="aider", visibility="full"):
    """Reads a history; a chain ends where something other than an error or a wait follows."""

    _head: str = kept("")
    """The time in the head of the current session, which names the session."""
    _number: int = kept(0)
    """The number of errors in that session so far."""
    _waits: bool = kept(False)
    """True after aider announced that it will call again."""

    def __init__(self, source: Source, state: Mapping[str, Any]) -> None:
        super().__init__(source, state)
        self.clock(moment_here(self._head))

    def read(self, block: Block) -> Iterator[Hit]:
        """Yield the hits of the block; every line is text, so none is rejected."""
        data, at = block.data, 0
        while at < len(data):
            # Between two failures few lines matter.
            if at and not (self._waits or MAIN in self.chains):
                telling = _TELLING.search(data, at - 1)
                if telling is None:
                    return
                at = telling.start() + 1
            ends = data.find(b"\n", at)
            line = data[at:ends]
            if line and not line.isspace():
                events = self._events_of_line(line.decode("utf-8", "replace").rstrip())
                if events:
                    yield Hit(at, len(line), tuple(events))
            at = ends + 1

    def _events_of(self, record: Mapping[str, Any]) -> Iterable[Event]:
        return ()

    def _events_of_line(self, line: str) -> list[Event]:
        if line.startswith(_HEAD):
            ended = self._end_chain()
            self._begin(line.removeprefix(_HEAD))
            return ended
        if not line.startswith(">"):
            return self._end_chain()
        if match := _ERROR.match(line):
            return self._failed(match[1], match[2])
        if (retry := _RETRY.match(line)) and MAIN in self.chains and not self._waits:
            self._waits = True
            return [self.scheduled((self._head, self._number), delay_seconds=_number(retry[1]))]
        if _OVERFLOW.match(line):
            message = line.removeprefix("> ")
            return [*self._end_chain(), *self._failed("ContextWindowExceededError", message)]
        if line.startswith("> ^C"):
            self.count_session(aborted=1)
            self._waits = False
            return self.settled("aborted")
        if line.startswith("> Tokens:"):
            self.count_session(requests=1)
            return self._end_chain()
        if match := _VERSION.match(line):
            self.learn(agent_version=match[1])
        elif match := _MODEL.match(line):
            self.learn(model=match[1], provider=PROVIDERS.get(match[1].partition("/")[0]))
        return []

    def _begin(self, head: str) -> None:
        self._head, self._number = head.strip(), 0
        self.clock(moment_here(self._head))
        self.begin(derived_id("aider", self.source.path if not self.timed else "", self._head))
        folder, slash, file = self.source.path.replace("\\", "/").rpartition("/")
        if slash and file == _FILE:
            self.work_in(folder)
        self.count_session()

    def _failed(self, kind: str, message: str) -> list[Event]:
        self._waits = False
        self._number += 1
        self.count_session()
        facts = {"status": first_digits(_CODE.search(message)), "type": kind, "message": message.strip()}
        return [self.failed(facts, self._head, self._number, message, chain=MAIN)]

    def _end_chain(self) -> list[Event]:
        """Settle the open chain because a line that is no failure and no wait follows.

        After a wait the call was answered; without a wait no other call was made.
        """
        waits, self._waits = self._waits, False
        return self.settled("recovered", made=1) if waits else self.settled("exhausted")


def _number(seconds: str) -> float | None:
    try:
        return float(seconds)
    except ValueError:
        return None
