"""Twenty runs that the verdict was tried on a third time, fourteen of which speak of limits that nobody met."""

# ruff: noqa: E501
# fmt: off
# One run a line reads best.
from __future__ import annotations

from tests.analysis.verdicts.outputs import (
    DONE,
    OC_START,
    OC_STOP,
    Case,
    claude,
    codex,
    copilot,
    end,
    g,
    g_end,
    g_said,
    gemini,
    goose,
    got,
    hands,
    item,
    lines,
    oc_said,
    oc_tool,
    pi,
    pi_said,
    qwen,
    qwen_said,
    ran,
    rollout,
    said,
    say,
    synthetic,
    text,
    transcript,
    turn_failed,
    use,
)

_TABLE = "| code | text |\n| --- | --- |\n| 429 | You've hit your usage limit. Try again at 3:15 PM. |\n| 529 | Overloaded |"

LATER = (
    # Words of a limit, in a run that met none
    Case("claude writes a table of limits", "passed", claude(use("a", "Write"), got("a", "File created"), say(_TABLE), end(_TABLE))),
    Case("claude greps a log and finds a limit's end", "passed", claude(use("a", "Bash"), got("a", "2026-03-04 API Error: 429 rate_limit_error"), say("That line is the last one of the log: API Error: 429."), end("That line is the last one of the log: API Error: 429."))),
    Case("claude's edit is refused once, then it ends", "passed", claude(use("a", "Bash"), got("a", "Error: insufficient_quota", error=True), use("b"), got("b", "ok"), say("The fixture raises insufficient_quota as wanted."), end("The fixture raises insufficient_quota as wanted."))),
    Case("claude asks about a budget", "passed", claude(use("a", "Read"), got("a", "credit balance is too low"), say("Which budget do you mean? The message is `Your credit balance is too low`."), end("Which budget do you mean? The message is `Your credit balance is too low`."))),
    Case("codex ends on a limit's words", "passed", codex(ran("pytest -q", 0, "429 passed"), item("file_change", changes=[{"path": "a.py", "kind": "update"}]), said("429 tests passed; none hit the rate limit."), DONE)),
    Case("codex runs a load test", "passed", codex(ran("k6 run load.js", 0, "http_req_failed: 12% (429 Too Many Requests)"), said("12 % of the requests were answered with 429, as the limiter should."), DONE)),
    Case("gemini quotes resource exhausted", "passed", gemini(g("tool_use", tool_name="read_file", tool_id="c", parameters={}), g("tool_result", tool_id="c", status="success", output="RESOURCE_EXHAUSTED"), g_said("The constant RESOURCE_EXHAUSTED maps to 429; I left it."), g_end())),
    Case("opencode documents an overload", "passed", lines(OC_START, oc_tool("edit", output="Model is overloaded"), oc_said("README says: on `overloaded_error`, wait a minute."), OC_STOP)),
    Case("copilot explains a quota", "passed", copilot(("assistant.message", {"content": "You have exceeded your premium request quota means that the month's share is used."}), ("tool.execution_start", {"toolCallId": "c", "toolName": "edit"}), ("tool.execution_complete", {"toolCallId": "c", "success": True}), ("assistant.message", {"content": "I wrote that into docs/quota.md."}))),
    Case("pi explains a limit", "passed", pi(pi_said("`rate_limit_error` has the header retry-after; the mock sends 30."))),
    Case("openhands finishes over a limiter", "passed", hands({"source": "agent", "message": "run the tests", "action": "run", "args": {"command": "pytest"}}, {"source": "agent", "message": "", "observation": "run", "content": "429 Too Many Requests is raised", "extras": {"exit_code": 0}}, {"source": "agent", "message": "The limiter raises 429.", "action": "finish", "args": {}})),
    Case("goose names a limit's wording", "passed", goose(("user", text("what does it print?")), ("assistant", text("It prints `Claude usage limit reached|1772712000`, a moment behind a bar.")))),
    Case("qwen cites free quota", "passed", qwen(qwen_said("`Free allocated quota exceeded.` is what the server sends; the retry is in client.ts."))),
    Case("plain claude fails its build after limits", "failed", "I pause on 429 now.\n\nerror[E0308]: mismatched types\n --> src/limit.rs:9:5\nerror: could not compile `shop`\n", 101, "claude"),
    # The same words, met
    Case("claude meets a table's limit", "wait", claude(use("a"), got("a", "ok"), synthetic("You've hit your limit · resets 3pm (UTC)", error="rate_limit"), end("You've hit your limit · resets 3pm (UTC)", error=True)), 1, reason="rate_limited"),
    Case("codex is at its limit", "wait", codex(ran("ls"), turn_failed("You've hit your usage limit. Upgrade to Pro, or try again in 2 days 4 hours.")), 1, reason="rate_limited"),
    Case("gemini is out of its daily quota", "wait", gemini(g_end("error", "TerminalQuotaError", "You have exhausted your daily quota on this model. Your quota will reset after 5h12m.")), 1, reason="rate_limited"),
    Case("pi's provider is overloaded", "retry", pi(pi_said("", "error", errorMessage='529 {"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}')), 1, reason="network_transient"),
    Case("a rollout says its account is not entitled", "blocked", rollout({"type": "error", "message": "To use Codex with your ChatGPT plan, upgrade to Plus.", "codex_error_info": "usage_not_included"}), 1),
    Case("a transcript is refused its key", "blocked", transcript(synthetic("Invalid API key · Please run /login", isApiErrorMessage=True, error="authentication_failed")), 1, reason="auth_error"),
)
