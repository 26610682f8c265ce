"""The recipes of docs/how-to/frameworks.md in the real frameworks, with a provider on the loopback that refuses."""

from __future__ import annotations

import json
import os
import stat
import subprocess
import sys
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

import analyzer
from tests import REPOSITORY
from tests.test_docs import blocks, text_of

pytestmark = pytest.mark.skipif(
    any(find_spec(name) is None for name in ("langchain_openai", "agents", "claude_agent_sdk")),
    reason="THE FRAMEWORKS ARE NOT TESTED: python -m tests.frameworks installs them",
)
PAGE = text_of("docs/how-to/frameworks.md")
LANGCHAIN, OPENAI_AGENTS, CLAUDE_AGENT = blocks(PAGE, "python")
LIMITED = {
    "type": "error",
    "error": {"type": "rate_limit_error", "message": "Number of requests has exceeded your limit"},
}


class _Refusing(BaseHTTPRequestHandler):
    """Refuses whatever is posted, in the manner of both providers, and asks to be tried again at once."""

    protocol_version = "HTTP/1.1"

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers.get("content-length") or 0))
        server: Any = self.server
        server.requests += 1
        raw = json.dumps(LIMITED).encode()
        self.send_response(429)
        for name, value in {"content-type": "application/json", "content-length": str(len(raw)), **server.more}.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(raw)

    def log_message(self, *_: Any) -> None:
        """Nothing on stderr."""


@pytest.fixture
def provider() -> Iterator[Any]:
    """A provider on the loopback; `requests` counts what it refused."""
    with ThreadingHTTPServer(("127.0.0.1", 0), _Refusing) as server:
        server.requests, server.more = 0, {"retry-after-ms": "1"}  # type: ignore[attr-defined]
        server.url = f"http://127.0.0.1:{server.server_address[1]}"  # type: ignore[attr-defined]
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        yield server
        server.shutdown()
        thread.join()


def run(program: str, provider: Any, folder: Path) -> None:
    """Run a program as a user would, with nothing of this process's surroundings but the path."""
    away = {"OPENAI_AGENTS_DISABLE_TRACING": "1", "LANGSMITH_TRACING": "false", "DISABLE_AUTOUPDATER": "1",
            "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1", "DISABLE_TELEMETRY": "1"}  # fmt: skip
    keys = {"OPENAI_API_KEY": "k", "OPENAI_BASE_URL": f"{provider.url}/v1",
            "ANTHROPIC_API_KEY": "k", "ANTHROPIC_BASE_URL": provider.url}  # fmt: skip
    here = {"HOME": str(folder), "PYTHONPATH": str(REPOSITORY), "ANALYZER_HOOKS": str(folder / "hooks")}
    path = f"{folder}:{Path(sys.executable).parent}:{os.environ['PATH']}"
    done = subprocess.run(
        [sys.executable, "-c", program],
        cwd=folder,
        env={"PATH": path, **away, **keys, **here},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stderr


def rows(folder: Path, statement: str) -> list[tuple[Any, ...]]:
    """What a store says of the logs in a folder."""
    with analyzer.open_store(":memory:") as store:
        assert store.ingest([str(folder)]).total.quarantined == 0
        return store.sql(statement).rows()


@pytest.mark.parametrize("recipe", [LANGCHAIN, OPENAI_AGENTS, CLAUDE_AGENT], ids=["langchain", "openai", "claude"])
def test_a_recipe_has_five_lines(recipe: str) -> None:
    """Beside what it imports."""
    lines = [line for line in recipe.splitlines() if line.strip() and not line.startswith(("import ", "from "))]
    assert len(lines) <= 5


def test_langchain_tells_a_call_that_failed(provider: Any, tmp_path: Path) -> None:
    """One event for the call, however often the SDK below tried; observing its client tells each attempt."""
    call = """
from langchain_openai import ChatOpenAI
from openai import RateLimitError
model = ChatOpenAI(model="gpt-5", max_retries=1, callbacks=[Failures()])
try:
    model.invoke("hi")
except RateLimitError:
    pass
"""
    run(LANGCHAIN + call, provider, tmp_path)
    assert provider.requests == 2
    found = rows(tmp_path / "telemetry", "select caller, reason, session_id is not null from errors")
    assert found == [("planner", "rate_limited", True)]
    observed = call.replace("[Failures()])", '[])\nanalyzer.observe(model.root_client, caller="planner")')
    run("import analyzer\n" + observed, provider, tmp_path)
    assert len(rows(tmp_path / "telemetry", "select * from errors")) == 3


def test_openai_agents_tell_each_attempt(provider: Any, tmp_path: Path) -> None:
    """Three attempts of one call, the first two tried again."""
    call = """
from agents import Agent, Runner
from openai import RateLimitError
try:
    Runner.run_sync(Agent(name="planner", model="gpt-5"), "hi")
except RateLimitError:
    pass
"""
    run(OPENAI_AGENTS + call, provider, tmp_path)
    found = rows(tmp_path / "telemetry", "select caller, reason, attempt, outcome from errors order by attempt")
    assert found == [("planner", "rate_limited", attempt, "exhausted") for attempt in range(1, provider.requests + 1)]
    assert provider.requests == 3


CLAUDE_CALL = """
import asyncio
from claude_agent_sdk import ClaudeAgentOptions, ClaudeSDKError, query

async def ask(**options):
    try:
        async for message in query(prompt="hi", options=ClaudeAgentOptions(max_turns=1, **options)):
            WATCH
    except ClaudeSDKError:
        pass

asyncio.run(ask(OPTIONS))
"""
NOT_AGAIN = {"x-should-retry": "false"}


def test_the_claude_agent_sdk_tells_how_a_call_ended(provider: Any, tmp_path: Path) -> None:
    """Claude Code itself, which the SDK brings along, is refused, and its message is the error."""
    provider.more = NOT_AGAIN
    run(CLAUDE_AGENT + CLAUDE_CALL.replace("WATCH", "watch(message)").replace("OPTIONS", ""), provider, tmp_path)
    found = rows(tmp_path / "telemetry", "select caller, reason, session_id is not null from errors")
    assert found == [("planner", "rate_limited", True)]
    assert provider.requests == 1


def test_claude_code_runs_the_hooks_of_the_plugin(provider: Any, tmp_path: Path) -> None:
    """The plugin of contrib/claude-code in a real Claude Code: a refused turn and the session's end are logged."""
    provider.more = NOT_AGAIN
    program = tmp_path / "analyzer"
    program.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m analyzer "$@"\n')
    program.chmod(program.stat().st_mode | stat.S_IXUSR)
    plugin = {"type": "local", "path": str(REPOSITORY / "contrib" / "claude-code")}
    run(CLAUDE_CALL.replace("WATCH", "pass").replace("OPTIONS", f"plugins=[{plugin!r}]"), provider, tmp_path)
    found = rows(tmp_path / "hooks", "select agent, reason, outcome from errors")
    assert found == [("claude-code", "rate_limited", "surfaced")]
    (written,) = (tmp_path / "hooks").iterdir()
    assert "claude_code.session_end" in written.read_text("utf-8")
