"""Commands of this program as people paste them into a shell: every one that is shown anywhere is written here.

Invariant: a shell reads the line as these words, whatever a log put into them, and no character of it is invisible.
"""

from __future__ import annotations

import os
import re
import shlex
import string
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import date, datetime

from analyzer.readable import terminal_safe

PROGRAM = "analyzer"
LAKE = "delta:"
"""How the name of a store begins that is a lake; any other name is that of a file."""
STORELESS = {"classify", "completion", "emit", "hook", "prices", "receive", "run", "verdict", "watch"}
"""Commands that ask no store."""
STORELESS_RULES = {"explain", "list", "test"}
"""Those of `rules` that ask none."""
_PLAIN = frozenset(f"{string.ascii_letters}{string.digits} _,/=+%")
_IN_CHATS = re.compile(r"[@#!`<>&*|~\\\[\]]|://|\bwww\.|\bGH-", re.IGNORECASE)
"""What calls, links or marks up in one chat or another."""
_DOMAIN = re.compile(r"\w\.[^\W\d_]{2}|\s\s")
"""What a log may make a link of, and what is one space in a chat."""


def command_line(*words: str, store: str | None = None, chat: bool = False) -> str:
    """Write a command as a line of a shell; a `store` that it asks is named before a `--`, else at the end.

    A path below the home directory is written as a shell expands it, without the name of whose home it is. In a
    `chat` no word calls somebody, is a link or ends a piece of code.
    """
    options = words.index("--") if "--" in words else len(words)
    named = () if store is None or _asks_none(words) else ("--store", store)
    line = (PROGRAM, *words[:options], *named, *words[options:])
    home = os.path.expanduser("~").rstrip("/")
    written = []
    for word in line:
        lake = LAKE if word.startswith(f"{LAKE}{home}/") else ""
        below = home.startswith("/") and word.startswith(f"{lake}{home}/")
        ahead = (f'{lake}"$HOME"/' if lake else "~/") if below else ""
        rest = word[len(lake) + len(home) + 1 :] if below else word
        calls = _IN_CHATS.search(rest) or (word is not store and _DOMAIN.search(rest))
        written.append(ahead + (_by_bytes(rest) if chat and calls else quoted(rest) if rest or not below else ""))
    return " ".join(written)


def window_words(
    since: date | datetime | None = None, until: date | datetime | None = None, timezone: str = "UTC"
) -> tuple[str, ...]:
    """The options that name a window: days of the zone, or naive UTC moments; nothing of what is open."""
    ends = [part for name, end in (("--since", since), ("--until", until)) if end for part in (name, _moment(end))]
    return (*ends, *(("--timezone", timezone) if timezone != "UTC" else ()))


def quoted(word: str) -> str:
    """Quote a word for bash and zsh; one with characters that are not seen is written by their bytes."""
    return shlex.quote(word) if terminal_safe(word) == word else _by_bytes(word)


@dataclass(frozen=True, slots=True)
class Asking:
    """How the store behind a text is asked, wherever the text is read."""

    store: str | None = None
    """The store that a command has to name; None for the one that it asks by itself."""
    keep: tuple[str, ...] = ()
    """Logs that have to be read into a store first, where the text rests on a throw-away one."""
    gone: bool = False
    """Whether there is no store, and nothing to make one of."""
    chat: bool = False
    """Whether the text goes to a chat."""

    def command(self, *words: str) -> str:
        """The command line of these words; empty without any, and where nothing answers it."""
        asks = not _asks_none(words)
        if not words or (asks and self.gone):
            return ""
        first = ""
        if asks and self.keep:
            first = f"{command_line('ingest', *self.keep, store=self.store, chat=self.chat)} && "
        return first + command_line(*words, store=self.store, chat=self.chat)


HERE = Asking()
"""Of the store that a command asks by itself."""


def whole_path(store: str) -> str:
    """The whole path of a store in a file; names of lakes and of stores in memory as they are."""
    return store if store.startswith(("delta:", ":")) else os.path.abspath(store)


def _asks_none(words: Iterable[str]) -> bool:
    command, behind, *_ = (*words, "", "")
    return command in STORELESS or (command == "rules" and behind in STORELESS_RULES)


def _moment(end: date | datetime) -> str:
    return f"{end.isoformat()}Z" if isinstance(end, datetime) else end.isoformat()


def _by_bytes(word: str) -> str:
    data = word.encode("utf-8", "surrogateescape" if any("\udc80" <= char <= "\udcff" for char in word) else "replace")
    return "$'" + "".join(char if char in _PLAIN else f"\\x{ord(char):02x}" for char in data.decode("latin-1")) + "'"
