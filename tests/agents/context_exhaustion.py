"""Reads on until its context is full, and says so in its result record."""

import sys

from stream import init, reply, result

init("s-full")
reply("s-full", 1, 196_000, {"type": "text", "text": "Reading one more file."})
result("s-full", "Prompt is too long: 207000 tokens > 200000 maximum", is_error=True, terminal_reason="prompt_too_long")
sys.exit(1)
