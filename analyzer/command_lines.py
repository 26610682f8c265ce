"""Commands of this program as people paste them into a shell: every command that is shown is written by this module.

Invariant: a shell reads the line as these words, whatever a log put into them, and every character is visible.
"""

from __future__ import annotations

import os
import re
import shlex
import string
from collections.abc import Iterable
from datetime import date, datetime

from analyzer.frozen import frozen
from analyzer.readable import terminal_safe

PROGRAM = "analyzer"
TABLE = "delta:"
"""The prefix of the name of a shared table of events."""
STORELESS = {"classify", "completion", "emit", "hook", "prices", "receive", "run", "verdict", "watch"}
"""Commands that use no store."""
STORELESS_RULES = {"explain", "list", "test"}
"""Subcommands of `rules` that use no store."""
_PLAIN = frozenset(f"{string.ascii_letters}{string.digits} _,/=+%")
_IN_CHATS = re.compile(r"[@#!`<>&*|~\\\[\]]|://|\bwww\.|\bGH-", re.IGNORECASE)
"""Characters and words that mention somebody, link or mark up in one chat or another."""
_DOMAIN = re.compile(r"\w\.[^\W\d_]{2}|\s\s")
"""Text from a log that a chat may turn into a link, or two blanks that it would join."""


def command_line(*words: str, store: str | None = None, chat: bool = False) -> str:
    """Write a command as a line for a shell.

    The option for the `store`, if the command uses one, is put before a `--`, else at the end. A path below the home
    directory is written with `~` or `$HOME`, so that it does not show whose home it is. For a `chat` no word mentions
    somebody, is a link or ends a piece of code.
    """
    options = words.index("--") if "--" in words else len(words)
    store_option = () if store is None or _is_storeless(words) else ("--store", store)
    line = (PROGRAM, *words[:options], *store_option, *words[options:])
    home = os.path.expanduser("~").rstrip("/")
    written = []
    for word in line:
        table = TABLE if word.startswith(f"{TABLE}{home}/") else ""
        below = home.startswith("/") and word.startswith(f"{table}{home}/")
        prefix, rest = "", word
        if below:
            prefix = f'{table}"$HOME"/' if table else "~/"
            rest = word[len(table) + len(home) + 1 :]
        if chat and (_IN_CHATS.search(rest) or (word is not store and _DOMAIN.search(rest))):
            rest = _by_bytes(rest)
        elif rest or not below:
            rest = quoted(rest)
        written.append(prefix + rest)
    return " ".join(written)


def window_words(
    since: date | datetime | None = None, until: date | datetime | None = None, timezone: str = "UTC"
) -> tuple[str, ...]:
    """Return the options that name a window: days of the zone, or naive UTC moments.

    An open end gets no option.
    """
    ends = [part for name, end in (("--since", since), ("--until", until)) if end for part in (name, _moment(end))]
    return (*ends, *(("--timezone", timezone) if timezone != "UTC" else ()))


def quoted(word: str) -> str:
    """Quote a word for bash and zsh; a word with invisible characters is written by its bytes."""
    return shlex.quote(word) if terminal_safe(word) == word else _by_bytes(word)


@frozen
class Asking:
    """How a reader of a text asks the store that it was made from."""

    store: str | None = None
    """The store that a command must name; None for the one that commands use by default."""
    keep: tuple[str, ...] = ()
    """Logs that must be ingested into a store first,
    because the text was made from a throw-away one.
    """
    gone: bool = False
    """True if there is no store, and nothing to make one from."""
    chat: bool = False
    """True if the text goes to a chat."""

    def command(self, *words: str) -> str:
        """Return the command line of these words; empty if there are none, or no store can answer."""
        needs_store = not _is_storeless(words)
        if not words or (needs_store and self.gone):
            return ""
        first = ""
        if needs_store and self.keep:
            first = f"{command_line('ingest', *self.keep, store=self.store, chat=self.chat)} && "
        return first + command_line(*words, store=self.store, chat=self.chat)


HERE = Asking()
"""For the store that commands use by default."""


def whole_path(store: str) -> str:
    """Return the absolute path of a store, or of a log; names of tables and of stores in memory stay as they are."""
    return store if store.startswith((TABLE, ":")) else os.path.abspath(store)


def _is_storeless(words: Iterable[str]) -> bool:
    command, subcommand, *_ = (*words, "", "")
    return command in STORELESS or (command == "rules" and subcommand in STORELESS_RULES)


def _moment(end: date | datetime) -> str:
    return f"{end.isoformat()}Z" if isinstance(end, datetime) else end.isoformat()


def _by_bytes(word: str) -> str:
    data = word.encode("utf-8", "surrogateescape" if any("\udc80" <= char <= "\udcff" for char in word) else "replace")
    return "$'" + "".join(char if char in _PLAIN else f"\\x{ord(char):02x}" for char in data.decode("latin-1")) + "'"
