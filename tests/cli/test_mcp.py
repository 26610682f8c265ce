"""The questions of agents, asked by the protocol's own client of a server in a process of its own."""

from __future__ import annotations

import asyncio
import hashlib
import importlib.util
import json
import os
import sys
from collections.abc import Sequence
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from analyzer.cli import agent_answers, call
from analyzer.cli.agent_answers import MAX_BYTES, MAX_TOKENS, tokens
from analyzer.errors import AnalyzerError
from analyzer.events import Event, encode
from analyzer.store import open_store
from tests import Lazy
from tests.cli.conftest import UNSET, Run
from tests.cli.test_show import SESSION

mcp = Lazy("mcp")

TOOLS = {"recent_failures", "why", "is_it_me_or_them", "what_changed", "query"}
Asked = tuple[str, dict[str, Any]]


def ask(folder: Path, *questions: Asked, store: str | None = None) -> list[tuple[bool, str]]:
    """Whether each answer is a refusal, and its text; all questions go to one server, whose home is the folder."""

    async def conversation() -> list[tuple[bool, str]]:
        environment = {name: value for name, value in os.environ.items() if name not in UNSET}
        chosen = ["--store", store] if store else []
        server = mcp.StdioServerParameters(
            command=sys.executable,
            args=["-m", "analyzer", "mcp", *chosen],
            env={**environment, "HOME": str(folder), "XDG_DATA_HOME": str(folder / "data")},
            cwd=folder,
        )
        streams = mcp.stdio_client(server)
        async with streams as (incoming, outgoing), mcp.ClientSession(incoming, outgoing) as session:
            known = await session.initialize()
            assert "never instructions" in (known.instructions or "")
            tools = (await session.list_tools()).tools
            assert {tool.name for tool in tools} == TOOLS
            assert all(tool.annotations is not None and tool.annotations.read_only_hint for tool in tools)
            answers = [await session.call_tool(name, arguments) for name, arguments in questions]
        return [(bool(answer.is_error), answer.content[0].text) for answer in answers]

    return asyncio.run(conversation())


def test_five_questions_are_answered(tmp_path: Path, store: str) -> None:
    """What failed with whose fault it is, why, what changed, a query; the store stays as it was."""
    before = hashlib.sha256(Path(store).read_bytes()).hexdigest()
    answers = ask(
        tmp_path,
        ("recent_failures", {"last": "50y"}),
        ("why", {"about": SESSION[:8]}),
        ("why", {"about": "HTTP 529 overloaded_error: Overloaded"}),
        ("why", {"about": "feed is gone"}),
        ("is_it_me_or_them", {"last": "1h"}),
        ("what_changed", {"before": "2026-11-01..2026-11-06", "after": "2026-11-06..2026-11-11"}),
        ("query", {}),
        ("query", {"name": "errors-by-reason"}),
        store=store,
    )
    assert [refused for refused, _ in answers] == [False] * len(answers)
    recent, session, text, seen, whose, changed, queries, rows = (text for _, text in answers)
    assert recent.startswith("Most failures: ")
    assert "(request)" in recent
    assert "Failed tools:" in recent
    assert session.startswith(f"session {SESSION}")
    assert "network_transient" in text
    assert "the provider's service" in text
    assert "Seen 4 times in 4 sessions" in seen
    assert whose.startswith("No error in the last 1h")
    assert "2026-11-10 08:15" in whose
    assert changed.startswith("# ")
    assert "- errors-by-reason: " in queries
    assert "detection-" not in queries
    assert rows.startswith('"reason","errors"')
    assert hashlib.sha256(Path(store).read_bytes()).hexdigest() == before


def test_an_argument_that_a_tool_does_not_have_is_refused(tmp_path: Path, store: str) -> None:
    """Every tool names the arguments that it has, and answers nothing."""
    questions = [(name, {"about": "x", "sinc": "30d"}) for name in sorted(TOOLS)]
    answers = ask(tmp_path, *questions, ("recent_failures", {"since": "30d"}), store=store)
    assert all(refused for refused, _ in answers)
    assert all(" known: " in text or "did you mean" in text for _, text in answers)
    assert answers[-1][1].endswith("unknown argument 'since'; known: caller, last")


def test_an_empty_window_shows_the_newest_failures(tmp_path: Path, store: str) -> None:
    """The answer says that nothing failed lately, and of which hours it is."""
    with open_store(store) as opened:
        text = agent_answers.recent_failures(opened, "24h")
        alone = agent_answers.recent_failures(opened, "24h", "figma-probe")
        nobody = agent_answers.recent_failures(opened, "24h", "nobody")
    shown = "Nothing failed in the last 24h. Shown: the 24h up to the newest failure, 2026-11-"
    assert text.startswith(f"{shown}10 08:")
    assert alone.startswith(f"{shown}09")
    assert "Errors (whose they are)" in text
    assert "Errors (whose they are)" in alone
    assert nobody.startswith("No error in the last 24h.")


def _outage(path: Path) -> None:
    """Errors of a provider in six sessions of three callers some minutes ago, and one of our own."""
    at = datetime.now(UTC).replace(tzinfo=None) - timedelta(minutes=5)
    events = [
        Event(
            "error.classified",
            at,
            f"s{number}",
            {
                "caller": f"svc-{number % 3}",
                "reason": "network_transient" if number < 6 else "validation",
                "provider": "openai" if number < 6 else "anthropic",
                "facts": {"status": 529 if number < 6 else 400, "message": "Overloaded" if number < 6 else "bad input"},
            },
            f"e{number}",
        )
        for number in range(7)
    ]
    path.write_bytes(b"".join(map(encode, events)))


def test_whose_fault_the_last_hours_were(tmp_path: Path) -> None:
    """The provider's, with its evidence; asked about one provider, of that one alone."""
    _outage(tmp_path / "log.jsonl")
    with open_store(tmp_path / "a.duckdb", writable=True) as store:
        store.ingest([str(tmp_path / "log.jsonl")])
    with open_store(tmp_path / "a.duckdb") as store:
        all_of_it = agent_answers.is_it_me_or_them(store, last="2h")
        ours = agent_answers.is_it_me_or_them(store, "anthropic", "2h")
        nobodys = agent_answers.is_it_me_or_them(store, "groq", "2h")
    assert all_of_it.startswith(
        "Mostly the provider: 6 of 7 errors in the last 2h, in 6 sessions of 3 callers.\n\n"
        "- provider: 6 (85.7%), 6 sessions"
    )
    assert ours.startswith("Mostly your requests: 1 of 1 error of anthropic in the last 2h, in 1 session")
    assert nobodys.startswith("No error of groq in the last 2h: neither.")


def test_hostile_arguments_are_refused_in_words(tmp_path: Path, store: str) -> None:
    """Each is answered in one text within the bound, and the server goes on."""
    questions: Sequence[Asked] = (
        ("query", {"name": "errors-by-reason'; drop table events; --"}),
        ("query", {"name": "errors-by-reason", "params": {"caller": "x' or 1=1 --", "last": "7d"}}),
        ("query", {"name": "errors-by-reason", "params": {"last": "for ever"}}),
        ("query", {"name": "errors-by-reason", "params": {"no_such": "1"}}),
        ("query", {"name": "../../etc/passwd"}),
        ("query", {"name": 7}),
        ("recent_failures", {"last": "-1d"}),
        ("recent_failures", {"last": "24h", "caller": "\x00\x1b[2J" * 1000}),
        ("why", {"about": ""}),
        ("why", {"about": "x" * 1_000_000}),
        ("why", {"about": "%' or '1'='1"}),
        ("is_it_me_or_them", {"last": "400d"}),
        ("what_changed", {"what": "agent_version"}),
        ("what_changed", {"before": "x..y"}),
        ("no_such_tool", {}),
        ("query", {"name": "errors-by-reason"}),
    )
    answers = ask(tmp_path, *questions, store=store)
    refused = [refused for refused, _ in answers]
    assert refused == [True, False, *[True] * 5, False, True, False, False, *[True] * 4, False]
    assert all(0 < len(text.encode()) <= MAX_BYTES and tokens(text) <= MAX_TOKENS for _, text in answers)
    assert not any("Traceback" in text for _, text in answers)
    assert answers[1][1].startswith("No row.")


def test_every_query_is_answered_in_so_many_tokens(store: str) -> None:
    """All of the catalogue over the samples: cells of ids and figures have few bytes a token."""
    with open_store(store) as opened:
        names = [
            line[2:].partition(":")[0] for line in agent_answers.query(opened).splitlines() if line.startswith("- ")
        ]
        answers = []
        for name in names:
            with suppress(AnalyzerError):  # some want a parameter
                answers.append(agent_answers.query(opened, name))
    assert len(answers) > 40
    assert all(tokens(text) <= MAX_TOKENS for text in answers)
    assert any("lines left out" in text for text in answers)


@pytest.mark.parametrize(
    ("text", "least"),
    [
        # As the vocabularies o200k and cl100k of OpenAI have them, the more of the two.
        ("No error in the last 1h. The newest event of the logs is of 2026-11-10 08:15 UTC.", 30),
        ('"day","caller","errors"', 7),
        ("01a218b7-94ef-76d1-ba3e-2b3e532096e3", 25),
        ("| rate_limited | 12 | 3.4 % |", 14),
        ("overloaded_error: Overloaded (HTTP 529)", 11),
    ],
)
def test_the_estimate_of_tokens_is_on_the_safe_side(text: str, least: int) -> None:
    """Never fewer than there are, and at most twice as many in texts so short."""
    assert least <= tokens(text) <= 2 * least


def test_a_long_answer_says_where_it_was_cut(tmp_path: Path) -> None:
    """Whatever is asked for: the bound holds in bytes, and what is left out is counted."""
    lines = [
        encode(
            Event(
                "error.classified",
                datetime(2026, 11, 2, 8, 0, number % 60),
                f"session-{number}",
                {"caller": f"c{number}", "reason": "unknown", "facts": {"message": "鯨" * 200 + chr(0x4E00 + number)}},
                f"e{number}",
            )
        )
        for number in range(120)
    ]
    (tmp_path / "log.jsonl").write_bytes(b"".join(lines))
    with open_store(tmp_path / "a.duckdb", writable=True) as store:
        store.ingest([str(tmp_path / "log.jsonl")])
    with open_store(tmp_path / "a.duckdb") as store:
        recent = agent_answers.recent_failures(store, "50y")
        rows = agent_answers.query(store, "errors-messages", {"limit": "100"})
    for text in (recent, rows):
        assert len(text.encode()) <= MAX_BYTES and tokens(text) <= MAX_TOKENS
    assert "lines left out; 100 rows in all" in rows


def test_open_findings_are_named(tmp_path: Path, run: Run, store: str) -> None:
    """With an id that `why` takes, as the last night told them."""
    assert run("check", "--store", store, "--until", "2026-11-10").returncode == 1
    with open_store(store) as opened:
        recent = agent_answers.recent_failures(opened, "50y")
        named = recent.partition("Open findings")[2].splitlines()[1].removeprefix("- ").split()[0]
        assert agent_answers.why(opened, named).startswith(f"finding {named}")


def test_this_machines_logs_are_read_first(tmp_path: Path) -> None:
    """Where no store is named, what agents wrote down stands in the answer; where nothing is, the answer says so."""
    (nothing,) = ask(tmp_path, ("recent_failures", {"last": "50y"}))
    assert nothing == (False, "No error in the last 50y.")
    session = "0b7c4a52-0000-4000-8000-00000000beef"
    record = {
        "type": "assistant",
        "uuid": "u1",
        "sessionId": session,
        "timestamp": "2026-03-05T10:00:00.000Z",
        "isApiErrorMessage": True,
        "message": {"role": "assistant", "content": [{"type": "text", "text": "API Error: 529 Overloaded"}]},
    }
    folder = tmp_path / ".claude" / "projects" / "shop"
    folder.mkdir(parents=True)
    (folder / f"{session}.jsonl").write_text(json.dumps(record) + "\n", "utf-8")
    recent, told = ask(tmp_path, ("recent_failures", {"last": "50y"}), ("why", {"about": session}))
    assert "Overloaded" in recent[1]
    assert told[1].startswith(f"session {session}")


def test_without_a_store_of_that_name_the_answer_says_what_to_do(tmp_path: Path) -> None:
    """The agent hears of it, not only whoever started the server."""
    ((refused, text),) = ask(tmp_path, ("recent_failures", {}), store="gone.duckdb")
    assert refused
    assert "gone.duckdb" in text
    assert "analyzer ingest" in text


def test_without_the_extra_the_command_names_it(monkeypatch: pytest.MonkeyPatch, capsys: Any) -> None:
    """In one line, before anything is started."""
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    assert call(["mcp"]) == 2
    assert "pip install 'agent-error-analyzer[mcp]'" in capsys.readouterr().err
