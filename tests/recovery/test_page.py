"""recovery.md shows what works; the promises of recovery name tests and files that exist."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

import analyzer
from analyzer import recovery
from analyzer.events import Event, decode
from analyzer.events.times import now
from analyzer.recovery.context.recovery import STRATEGIES
from tests import REPOSITORY
from tests.examples import blocks, run_example
from tests.recovery.supervised import ENVIRONMENT

PAGE = (REPOSITORY / "docs" / "how-to" / "recovery.md").read_text("utf-8")
PROMISES = (REPOSITORY / "tests" / "seeds" / "README.md").read_text("utf-8")
BLOCKS = blocks(PAGE, "python")


def sections(heading: str) -> list[tuple[str, str]]:
    """Titles and texts of what stands below a heading."""
    inside = PROMISES.partition(f"\n## {heading}")[2].partition("\n## ")[0]
    return re.findall(r"^### (.+?)\n(.*?)(?=^###|\Z)", inside, re.MULTILINE | re.DOTALL)


SECTIONS = sections("What is promised")
ROWS = [row for _, text in SECTIONS for row in re.findall(r"^\| (?!promised|---)(.+) \|$", text, re.MULTILINE)]

STAGE = """
class Refused(Exception):
    def __init__(self, status_code, message, headers=()):
        super().__init__(message)
        self.status_code, self.headers = status_code, dict(headers)


class Client:
    def __init__(self):
        self.answers = [
            Refused(503, "upstream is away"),
            Refused(429, "slow down", {"retry-after": "0.2"}),
            Refused(400, "prompt is too long: 210000 tokens > 200000 maximum"),
        ]

    def create(self, messages):
        if self.answers:
            raise self.answers.pop(0)
        return f"an answer to {len(messages)} messages"


client = Client()
messages = [{"role": role, "content": "x" * 4_000} for role in ("user", "assistant") * 105]
messages.append({"role": "user", "content": "and now?"})
resumed = []


def flaky(question):
    return "an answer"
"""


def test_the_ten_lines_make_an_agent_recover(tmp_path: Path) -> None:
    """A client that is away, then limited, then overflows: the call answers, and the log tells the chain."""
    assert len([line for line in BLOCKS[0].splitlines() if line.strip()]) <= 10
    said = run_example(f"{STAGE}{BLOCKS[0]}\nprint(ask(messages), len(messages))", tmp_path, ENVIRONMENT)
    answered, kept = re.findall(r"\d+", said)
    assert 90 < int(answered) == int(kept) < 120
    lines = [line for path in (tmp_path / "telemetry").iterdir() for line in path.read_bytes().splitlines()]
    events = [decode(line, now()) for line in lines]
    assert all(isinstance(event, Event) for event in events)
    end = events[-1]
    assert isinstance(end, Event)
    assert (end.type, end.payload["outcome"], end.payload["attempts"]) == ("retry.settled", "recovered", 4)
    # Two waits of 0.1 s, less their jitter; a busy machine may let the limit between them pass without a wait.
    assert end.payload["waited_seconds"] >= 0.15


def test_the_examples_run(tmp_path: Path) -> None:
    """All blocks of the page, one after another, in one program."""
    assert len(BLOCKS) == 6
    run_example(f"{STAGE}client.answers.clear()\n" + "\n".join(BLOCKS), tmp_path, ENVIRONMENT)


@pytest.mark.parametrize("row", ROWS)
def test_what_is_promised_is_held(row: str) -> None:
    """Each row of the tables names files that exist, and tests that their files have."""
    _, lives_in, held_by = row.split(" | ")
    files = re.findall(r"`([^`]+\.\w+)`", lives_in)
    assert files
    assert [name for name in files if not (REPOSITORY / "analyzer" / name).is_file()] == []
    tests = [name.partition("::") for name in re.findall(r"`([^`]+)`", held_by)]
    assert tests
    for name, _, test in tests:
        assert f"def {test}(" in (REPOSITORY / "tests" / name).read_text("utf-8"), test


def test_the_tables_are_not_empty() -> None:
    """All five specifications are there."""
    rows = {title: len(re.findall(r"^\| (?!promised|---)", text, re.MULTILINE)) for title, text in SECTIONS}
    assert {title for title, count in rows.items() if count >= 7} == {
        "Context exhaustion of commands",
        "Error recovery",
        "Usage limits",
        "Relay and compaction",
        "Context recovery hook",
    }


def test_every_difference_has_a_reason() -> None:
    """Each specification has a table of what is done differently: what was asked, what is done, and why."""
    found = sections("Done differently, and why")
    assert [title.removeprefix("Of ").removeprefix("the ").lower() for title, _ in found] == [
        title.lower() for title, _ in SECTIONS
    ]
    for title, text in found:
        rows = re.findall(r"^\| (?!asked for|---)(.+) \|$", text, re.MULTILINE)
        assert rows, title
        assert [row for row in rows if len([cell for cell in row.split(" | ") if cell.strip()]) != 3] == []


def test_names_and_strategies_are_documented() -> None:
    """recovery.md names what `import analyzer` offers of this room, and each strategy and profile."""
    offered = [name for name in analyzer.__all__ if getattr(analyzer, name).__module__.startswith("analyzer.recovery")]
    assert "supervise" in offered
    assert [name for name in offered if name not in PAGE] == []
    assert [name for name in (*STRATEGIES, *recovery.PROFILES) if f"`{name}`" not in PAGE] == []


def test_all_names_of_the_room_load() -> None:
    """Each exported name is where the table says, and no other is known."""
    assert all(getattr(recovery, name) is not None for name in recovery.__all__)
    assert dir(recovery) == sorted(recovery.__all__)
    with pytest.raises(AttributeError):
        _ = recovery.no_such_name  # type: ignore[attr-defined]


def test_the_room_stays_light() -> None:
    """Importing all of it loads no database, frames, charts or command line."""
    names = [path.stem for path in (REPOSITORY / "analyzer" / "recovery").glob("*.py") if path.stem != "__init__"]
    program = "".join(f"import analyzer.recovery.{name}\n" for name in names) + (
        "import sys\n"
        "heavy = ['duckdb', 'polars', 'plotly', 'click', 'rich', 'jsonlines', 'zstandard']\n"
        "assert not [name for name in heavy if name in sys.modules]\n"
    )
    subprocess.run([sys.executable, "-W", "error", "-c", program], env=ENVIRONMENT, check=True)
