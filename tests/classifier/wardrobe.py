"""Dresses of a text: what terminals, logs, boxes, stacks and quoting programs make of an error that they pass on.

Each is a function from the text to the dressed text; none of them changes what it says.
"""

from __future__ import annotations

import html
import json
import re
import textwrap
from collections.abc import Callable

Dress = Callable[[str], str]


def _lines(text: str, before: str, behind: str = "") -> str:
    return "\n".join(f"{before}{line}{behind}" for line in text.split("\n"))


def _wrapped(width: int, indent: str = "") -> Dress:
    def dress(text: str) -> str:
        return "\n".join(
            textwrap.fill(
                line, width, break_long_words=False, break_on_hyphens=False, subsequent_indent=indent, tabsize=1
            )
            for line in text.split("\n")
        )

    return dress


def _boxed(corners: str, side: str, line: str, title: str = "") -> Dress:
    def dress(text: str) -> str:
        rows = _wrapped(76)(text).split("\n")
        width = max(map(len, rows)) + 2
        top = f"{corners[0]}{line}{title}{line * (width - 1 - len(title))}{corners[1]}"
        middle = [f"{side} {row:<{width - 2}} {side}" for row in rows]
        return "\n".join([top, *middle, f"{corners[2]}{line * width}{corners[3]}"])

    return dress


def _curly(text: str) -> str:
    text = re.sub(r"(^|[\s(\[{:=])\"", "\\1\u201c", text).replace('"', "\u201d")
    return re.sub(r"(^|[\s(\[{:=])'", "\\1\u2018", text).replace("'", "\u2019")


PYTHON_STACK = """Traceback (most recent call last):
  File "/srv/heron/loop.py", line 41, in step
    answer = await client.send(request)
  File "/srv/heron/client.py", line 118, in send
    raise self._error(response) from None
"""
NODE_STACK = """
    at Client.send (file:///srv/heron/client.mjs:118:15)
    at process.processTicksAndRejections (node:internal/process/task_queues:105:5)
    at async step (file:///srv/heron/loop.mjs:41:20)"""
GO_STACK = """

goroutine 17 [running]:
example.test/heron/loop.(*Loop).Step(0xc0001)
\t/srv/heron/loop.go:41 +0x1d"""

PLAIN_TEXT: dict[str, Dress] = {
    "double-spaces": lambda text: text.replace(" ", "  "),
    "no-break-spaces": lambda text: text.replace(" ", "\u00a0"),
    "thin-spaces": lambda text: text.replace(" ", "\u2009"),
    "tabs": lambda text: text.replace(" ", "\t"),
    "blank-lines-around": lambda text: f"\n\n   {text}   \n\n",
    "carriage-returns": lambda text: text.replace("\n", "\r\n") + "\r\n",
    "wrapped-at-60": _wrapped(60),
    "wrapped-at-48-indented": _wrapped(48, "    "),
    "box-of-lines": _boxed("╭╮╰╯", "│", "─"),
    "box-with-title": _boxed("┏┓┗┛", "┃", "━", " Error "),
    "box-of-ascii": _boxed("++++", "|", "-"),
    "stack-of-python-before": lambda text: PYTHON_STACK + text,
    "stack-of-node-behind": lambda text: text + NODE_STACK,
    "stack-of-go-behind": lambda text: text + GO_STACK,
    "log-line-iso": lambda text: f"2027-01-02T10:11:12.345Z ERROR {text}",
    "log-line-python": lambda text: f"2027-01-02 10:11:12,345 - heron.client - ERROR - {text}",
    "log-line-brackets": lambda text: f"[2027-01-02 10:11:12] [error] [heron] {text}",
    "log-line-syslog": lambda text: f"Jan  2 10:11:12 roost heron[712]: {text}",
    "log-line-level": lambda text: f"[ERROR] {text}",
    "quotes-curly": _curly,
    "quotes-around": lambda text: f"'{text}'" if "'" not in text else f'"{text}"',
    "repr-of-exception": lambda text: f"Exception({text!r})",
    "string-of-json": lambda text: json.dumps(text),
    "string-of-json-twice": lambda text: json.dumps(json.dumps(text)),
    "object-of-json-in-a-string": lambda text: json.dumps(json.dumps({"error": {"message": text}})),
    "escapes-of-html": lambda text: html.escape(text).replace("&#x27;", "&#39;"),
    "colours": lambda text: f"\x1b[31m\x1b[1m{text}\x1b[0m",
    "zero-width-spaces": lambda text: text.replace(" ", " \u200b"),
    "bullet": lambda text: f"  ⎿  {text}",
    "cross": lambda text: f"✗ {text}",
    "agent-failed": lambda text: f"Agent run failed: {text}",
    "step-ended": lambda text: f"Step 4 failed with error: {text}",
    "fullwidth-apostrophe": lambda text: text.replace("'", "\u02bc"),
}
HELD_BACK: dict[str, Dress] = {
    "wrapped-at-100": _wrapped(100),
    "log-line-logfmt": lambda text: f"time=2027-01-02T10:11:12Z level=error msg={text}",
    "log-line-pipes": lambda text: f"10:11:12.345 | ERROR | heron.client | {text}",
    "log-line-klog": lambda text: f"E0102 10:11:12.345678      71 client.go:45] {text}",
    "repr-of-bytes": lambda text: repr(text.encode()) if text.isascii() else text,
    "subagent-error": lambda text: f'Subagent "scout" failed: {text}',
    "box-double": _boxed("╔╗╚╝", "║", "═"),
    "stack-of-java-behind": lambda text: (
        text
        + "\n\tat test.example.Heron.send(Heron.java:118)\n\tat test.example.Loop.step(Loop.java:41)\n\t... 12 more"
    ),
}
DRESSES = {**PLAIN_TEXT, **HELD_BACK}
