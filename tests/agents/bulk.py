"""Prints so many megabytes of records (default 100), the last one a result."""

import json
import os
import sys

from stream import result

text = "The quick brown fox jumps over the lazy dog, and the agent reads one more file of the project. " * 4
message = {"content": [{"type": "text", "text": text}], "usage": {"input_tokens": 10, "output_tokens": 20}}
record = {
    "type": "assistant",
    "message": {"id": "msg_1", **message},
    "parent_tool_use_id": None,
    "session_id": "s-bulk",
}
line = json.dumps(record, separators=(",", ":")).encode() + b"\n"
piece = line * (1024 * 1024 // len(line))
for _ in range(int(sys.argv[1]) if len(sys.argv) > 1 else 100):
    left = memoryview(piece)
    while left:
        left = left[os.write(1, left) :]
result("s-bulk", "Read everything.")
