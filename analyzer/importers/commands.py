"""The head of a shell command: its program, and its subcommand if it takes one; never an argument.

Arguments hold names, paths and passwords. Failed calls are grouped by the head.
"""

from __future__ import annotations

import itertools
import re
import shlex
from collections.abc import Iterable, Iterator
from contextlib import suppress

_LOOKED_AT = 1_000
"""Characters of a command that are read."""
_PROGRAM = re.compile(r"[A-Za-z_][\w.+-]{0,39}|\[\[?")
_SUBCOMMAND = re.compile(r"[a-z][a-z-]{0,23}(?::[a-z-]{1,23})?")
# fmt: off
_WITH_SUBCOMMAND = frozenset({
    "apt", "apt-get", "aws", "az", "brew", "bun", "bundle", "cargo", "composer", "deno", "docker", "docker-compose",
    "dotnet", "flutter", "gcloud", "gem", "gh", "git", "go", "gradle", "gradlew", "helm", "hg", "just", "kubectl",
    "make", "mix", "mvn", "mvnw", "nix", "npm", "npx", "php", "pip", "pip3", "pipenv", "pnpm", "podman", "poetry",
    "pulumi", "rails", "rake", "rustup", "sbt", "swift", "systemctl", "task", "terraform", "tox", "uv", "uvx", "yarn",
})
# fmt: on
_TWICE = frozenset({"aws", "az", "gcloud", "gh"})
"""Programs whose subcommands have subcommands."""
_RUNNERS = frozenset({"npm", "pnpm", "yarn", "bun", "poetry", "uv", "pipenv"})
"""Programs whose `run` is followed by the name of a script."""
_BEFORE = frozenset({"builtin", "command", "doas", "env", "exec", "nice", "nohup", "stdbuf", "sudo", "time", "xargs"})
"""Programs that run the program after them."""
_STEPS = frozenset(
    {".", "cd", "echo", "export", "mkdir", "popd", "printf", "pushd", "set", "sleep", "source", "true", "umask"}
)
"""Programs of preparing steps: they stand before the command that matters."""
_SHELLS = frozenset({"bash", "dash", "sh", "zsh"})
# fmt: off
_ANSWERING = frozenset({
    "[", "[[", "ack", "ag", "cmp", "colordiff", "command", "diff", "diff3", "egrep", "expr", "fgrep", "fuser", "fzf",
    "git check-ignore", "git config", "git diff", "git grep", "git merge-base", "git show-ref", "grep", "jq", "killall",
    "kubectl diff", "lsof", "pgrep", "pidof", "pkill", "rg", "sdiff", "test", "type", "which", "zcmp", "zdiff", "zgrep",
})
# fmt: on
"""Programs whose exit status 1 is an answer, as "nothing found" or "they differ".

Their errors have another status.
"""
_STEP_FAILED = re.compile(r"(?m)(?:^|[:)]\s?)(?:\.|cd|export|mkdir|popd|pushd|source|umask):")
"""The beginning, after the shell's name, of its complaint about a failed step."""
_ASSIGNMENT = re.compile(r"\A[A-Za-z_]\w*=.*", re.DOTALL)
_SCRIPT = re.compile(r"-\w*c")
"""The option of a shell that is followed by a script."""
_OPERATORS = frozenset("();|&")
_INTERPRETER = re.compile(r"python[\d.]*|py")


def command_head(command: object) -> str | None:
    """Return the head of a command, which is a text or a list of words; None if it has none.

    Of several commands the first counts that is more than a preparing step, such as `cd`.
    """
    if isinstance(command, list) and command and all(isinstance(word, str) for word in command):
        words: Iterable[str] = [str(word) for word in command]
    elif isinstance(command, str):
        words = _words(command)
    else:
        return None
    first = None
    for simple in _simple_commands(words):
        head = _head(simple)
        if head and head.split()[0] not in _STEPS:
            return head
        first = first or head
    return first


def answers_by_one(command: object, printed: str) -> bool:
    """Tell whether exit status 1 is an answer of a command, and no failure.

    It is an answer if all commands that may have returned it are in `_ANSWERING`, or are steps
    before them and the shell printed no complaint about a step.
    """
    words = list(_words(command)) if isinstance(command, str) else command
    if not isinstance(words, list) or not all(isinstance(word, str) for word in words):
        return False
    if len(words) == 3 and words[0].rpartition("/")[2] in _SHELLS and _SCRIPT.fullmatch(words[1]):
        return answers_by_one(words[2], printed)
    heads = _heads_for_status(words)
    steps = [head for head in heads if head not in _ANSWERING]
    if len(steps) == len(heads) or not _STEPS.issuperset(head.split()[0] if head else "" for head in steps):
        return False
    return not steps or _STEP_FAILED.search(printed) is None


def _heads_for_status(words: list[str]) -> list[str | None]:
    """Return the heads of the commands that may have returned 1: the last of each pipeline."""
    heads: list[str | None] = []
    simple: list[str] = []
    is_over = False
    for word in (*words, ";"):
        if not word or not set(word) <= _OPERATORS:
            simple.append(word)
        elif simple:
            if is_over:
                heads.clear()
            heads.append(_head(simple))
            simple = []
            is_piped = word in ("|", "|&")
            if is_piped and "pipefail" not in words:
                heads.pop()
            is_over = not is_piped and word != "&&"
    return heads


def _words(text: str) -> Iterator[str]:
    lexer = shlex.shlex(
        text[:_LOOKED_AT].replace("\\\n", " ").replace("\n", " ; "), posix=True, punctuation_chars="();<>|&"
    )
    lexer.whitespace_split = True
    with suppress(ValueError):  # a quote that is never closed: the words before it count
        yield from lexer


def _simple_commands(words: Iterable[str]) -> Iterator[list[str]]:
    """Yield the simple commands of a line, as words."""
    simple: list[str] = []
    for word in words:
        if word and set(word) <= _OPERATORS:
            yield simple
            simple = []
        else:
            simple.append(word)
    yield simple


def _head(words: list[str]) -> str | None:
    rest = list(words)
    while rest:
        name = rest.pop(0).rpartition("/")[2].rpartition("\\")[2].removesuffix(".exe")
        if name == "timeout":
            while rest and (rest[0].startswith("-") or rest[0][:1].isdigit()):
                rest.pop(0)
            continue
        if name == "command" and rest[:1] in (["-v"], ["-V"]):
            return name
        if name in _BEFORE:
            while rest and rest[0].startswith("-"):
                rest.pop(0)
            continue
        if _ASSIGNMENT.fullmatch(name) or name == "!":
            continue
        if name in _SHELLS and len(rest) > 1 and _SCRIPT.fullmatch(rest[0]):
            return command_head(rest[1])
        return f"{name}{_subcommand(name, rest)}" if _PROGRAM.fullmatch(name) else None
    return None


def _subcommand(name: str, rest: list[str]) -> str:
    """Return the words of the head after the program, with a space before each word."""
    if _INTERPRETER.fullmatch(name):
        module = rest[1] if len(rest) > 1 and rest[0] == "-m" else ""
        return f" -m {module}" if _PROGRAM.fullmatch(module) else ""
    if name not in _WITH_SUBCOMMAND:
        return ""
    words = [word for word in rest if not word.startswith("-")]
    most = 2 if name in _TWICE or (name in _RUNNERS and words[:1] == ["run"]) else 1
    subcommands = itertools.takewhile(_SUBCOMMAND.fullmatch, words[:most])
    return "".join(f" {word}" for word in subcommands)
