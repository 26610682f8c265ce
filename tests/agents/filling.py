"""Works through a to-do list while its context fills; a fresh instance knows no more than its checkpoint says.

Arguments: the file that the finished work is appended to, and how many items there are. Each item adds a tenth of the
window. It dies of a full context, as agents do.
"""

import os
import re
import sys
import time
from pathlib import Path

from stream import WINDOW, answer, init, reply, result, tool

done, count = Path(sys.argv[1]), int(sys.argv[2])
todo = [f"item {number}" for number in range(1, count + 1)]
checkpoint = os.environ.get("ANALYZER_CHECKPOINT")
prompt = sys.stdin.read()
if checkpoint:
    document = Path(checkpoint).read_text()
    assert document in prompt, "the checkpoint on stdin is the one in the file"
    remaining = document.partition("## Remaining Work\n")[2].partition("\n\n")[0]
    todo = re.findall(r"^\d+\. (item \d+)$", remaining, re.MULTILINE)
session = f"s-fill-{os.getpid()}"
init(session)
tokens, number, finished = 30_000, 0, []
while todo:
    number += 1
    tokens += WINDOW // 10
    if tokens > WINDOW:
        result(session, f"Prompt is too long: {tokens} tokens > {WINDOW} maximum", is_error=True)
        sys.exit(1)
    item = todo.pop(0)
    finished.append(item)
    todos = [{"content": each, "status": "completed"} for each in finished]
    todos += [{"content": each, "status": "pending"} for each in todo]
    calls = tool("Write", 2 * number, file_path=item), tool("TodoWrite", 2 * number + 1, todos=todos)
    reply(session, number, tokens, {"type": "text", "text": f"I do {item}."}, *calls)
    with done.open("a") as file:
        file.write(f"{item} by {session}\n")
    answer(session, 2 * number)
    answer(session, 2 * number + 1)
    time.sleep(0.15)  # a model takes its time before the next reply
result(session, "All done.")
