"""Checkpoints and what makes them: a summarizer that needs no model, and one that is a command."""

from __future__ import annotations

import os
import stat
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from analyzer.errors import AnalyzerError
from analyzer.recovery import RelaySettings
from analyzer.recovery.relay.checkpoint import (
    SECTIONS,
    Checkpoint,
    CheckpointError,
    SummarizerLimitError,
    Transcript,
    Turn,
    parse,
    transcript,
    write,
)
from analyzer.recovery.relay.monitor import summarizer_of
from analyzer.recovery.relay.summarizers import CommandSummarizer, SummarizerError, summarize
from tests import each_row

DOCUMENT = """# Relay Checkpoint

## Completed Work
- Created the model in src/models/user.py
- Added a migration

## Current State
- Working on the endpoint

## Modified Files
- src/models/user.py (new)

## Remaining Work
1. Complete the handler
2. Write tests

## Resume Instructions
Continue from step 1 of remaining work.
The skeleton exists.
"""


item = st.text(st.characters(blacklist_categories=("C", "Z")), min_size=1, max_size=20).filter(
    lambda text: text not in ("-", "*", "+", "```")
)
items = st.lists(item, max_size=4).map(tuple)


@given(st.builds(Checkpoint, items, items, items, items.filter(bool), item))
def test_checkpoints_survive_the_way_through_a_document(checkpoint: Checkpoint) -> None:
    """What is rendered is read back the same."""
    assert parse(checkpoint.render()) == checkpoint


def test_words_around_a_checkpoint_are_let_go() -> None:
    """Models talk and fence; the document is found all the same."""
    assert parse(f"Here it is:\n```markdown\n{DOCUMENT}```\nGood luck!\n") == parse(DOCUMENT)


def test_a_fence_inside_of_a_checkpoint_stays() -> None:
    """Instructions may quote code; only the fence around the whole document is let go."""
    document = DOCUMENT + "```\nmake test\n```\n"
    assert parse(document).resume_instructions.endswith("```\nmake test\n```")
    assert parse(f"```markdown\n{document}```\nBye.\n") == parse(document)


@each_row(
    "text",
    [
        "",
        "I could not do it.",
        DOCUMENT.replace("# Relay Checkpoint", "# Summary"),
        *(DOCUMENT.replace(f"## {name}\n", "") for name in SECTIONS),
        DOCUMENT.replace("1. Complete the handler\n2. Write tests\n", ""),
        DOCUMENT.partition("Continue")[0],
        DOCUMENT + "\n## Remaining Work\n1. twice\n",
    ],
)
def test_what_is_no_checkpoint_is_refused(text: str) -> None:
    """No title, a section missing or twice, nothing that remains, no instructions."""
    with pytest.raises(CheckpointError):
        parse(text)


def test_checkpoints_are_written_for_their_owner_without_secrets(tmp_path: Path) -> None:
    """Mode 0600 in a folder of mode 0700, nothing left beside it, and no key in it."""
    secret = "sk-ant-" + "a1b2c3d4" * 4
    found = parse(DOCUMENT.replace("The skeleton exists.", f"The key is {secret}."))
    path = write(found, tmp_path / "checkpoints", "step/../1")
    assert path.parent == tmp_path / "checkpoints"
    assert list(path.parent.iterdir()) == [path]
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700
    assert secret not in path.read_text()
    assert parse(path.read_text()).remaining_work == found.remaining_work


def test_a_summarizer_reads_no_secret() -> None:
    """Wherever an agent's record has one: in what was said, in what a tool was called with, in what it answered."""
    secret = "sk-ant-" + "a1b2c3d4" * 4
    blocks = (
        {"type": "text", "text": f"The key is {secret}."},
        {"type": "tool_use", "name": "Bash", "input": {"command": f"login {secret}", "password": "hunter2 x"}},
        {"type": "tool_result", "content": [{"type": "text", "text": f"KEY={secret}"}]},
        {"type": "tool_result", "content": f"KEY={secret}"},
    )
    records = [{"type": "user", "message": {"content": f"Use {secret}"}}]
    records += [{"type": "assistant", "message": {"content": [block]}} for block in blocks]
    read = transcript("Add the endpoint", records, None, 2_000)
    assert len(read.turns) == 5
    assert all(word not in read.render() + repr(read) for word in (secret, "hunter2"))
    assert read.render().count("[REDACTED:") == 6


def session(*turns: Turn, before: Checkpoint | None = None) -> Transcript:
    """A session with these turns."""
    return Transcript("Add the endpoint", turns, before)


def todo(*items: tuple[str, str]) -> Turn:
    """A to-do list that was written."""
    todos = [{"content": content, "status": status} for content, status in items]
    return Turn("tool", "…", "TodoWrite", {"todos": todos})


def test_the_extract_takes_what_agents_write_down() -> None:
    """To-do lists, edited files, commands, decisions and last words come out of a session."""
    found = parse(
        summarize(
            session(
                todo(("Model", "in_progress"), ("Handler", "pending")),
                Turn("assistant", "I decided to keep the old route. It is used elsewhere."),
                Turn("tool", "…", "Write", {"file_path": "src/user.py"}),
                Turn("tool", "…", "Bash", {"command": "pytest -q"}),
                todo(("Model", "completed"), ("Handler", "in_progress"), ("Tests", "pending")),
                Turn("assistant", "The handler is half done."),
            ),
            2_000,
        )
    )
    assert found.completed_work == ("Model", "Wrote src/user.py", "Ran `pytest -q`")
    assert found.remaining_work == ("Handler", "Tests")
    assert found.modified_files == ("src/user.py",)
    assert "Decided: I decided to keep the old route." in found.current_state
    assert "In progress: Handler" in found.current_state
    assert "The handler is half done." in found.resume_instructions


def test_the_extract_goes_on_from_the_checkpoint_before() -> None:
    """A second hand-off keeps what the first one knew."""
    found = parse(summarize(session(Turn("assistant", "On it."), before=parse(DOCUMENT)), 2_000))
    assert found.completed_work == parse(DOCUMENT).completed_work
    assert found.remaining_work == ("Complete the handler", "Write tests")


def test_the_extract_says_so_where_nothing_was_planned() -> None:
    """A session without any plan goes on with its task."""
    assert parse(summarize(session(), 2_000)).remaining_work == ("Go on with the task as it was given.",)


def test_the_extract_keeps_its_cap() -> None:
    """Of long lists the newest items stay; where not even the plan fits, the limit is reached."""
    deeds = [Turn("tool", "…", "Bash", {"command": f"make step-{number}"}) for number in range(500)]
    text = summarize(session(*deeds, todo(("Handler", "pending"))), 300)
    assert parse(text).completed_work[-1] == "Ran `make step-499`"
    assert len(text) <= 1_200
    with pytest.raises(SummarizerLimitError):
        summarize(session(todo(*((f"Item {number}", "pending") for number in range(500)))), 300)


def command(code: str) -> str:
    """A summarizer of one line."""
    import shlex

    return shlex.join([sys.executable, "-c", code])


def test_a_command_summarizes() -> None:
    """It reads the instructions and the session, knows its cap, and its output is the checkpoint's text."""
    code = (
        "import os, sys; said = sys.stdin.read(); "
        "assert all(s in said for s in ('## Resume Instructions', 'TASK: Add the endpoint', 'ASSISTANT: On it.')); "
        "assert os.environ['ANALYZER_CHECKPOINT_TOKENS'] == '2000'; print('made')"
    )
    assert CommandSummarizer(command(code))(session(Turn("assistant", "On it.")), 2_000) == "made\n"


def test_a_summarizer_gets_its_own_words_first(tmp_path: Path) -> None:
    """The prompt file's text stands before what a checkpoint is, which no prompt takes the place of."""
    (tmp_path / "summarizer.md").write_text("You are terse: nouns only.\n")
    code = "import sys; said = sys.stdin.read(); print(said[:26], said.index('# Relay Checkpoint') > 26)"
    settings = RelaySettings(summarizer=command(code), summarizer_prompt_file=str(tmp_path / "summarizer.md"))
    assert summarizer_of(settings)(session(), 2_000) == "You are terse: nouns only. True\n"


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (lambda path: path.unlink(), "cannot be read"),
        (lambda path: path.write_bytes(b"\xff"), "UTF-8"),
        (lambda path: path.write_text("x" * 70_000), "at most"),
        (lambda path: path.chmod(0o666), "others may write it"),
        (lambda path: (path.unlink(), os.mkfifo(path)), "no prompt"),
    ],
)
def test_a_prompt_file_that_cannot_be_used_is_refused(
    tmp_path: Path, change: Callable[[Path], object], says: str
) -> None:
    """With the reason, before anything is started; so is one that nobody would read."""
    path = tmp_path / "summarizer.md"
    path.write_text("Be terse.")
    path.chmod(0o600)
    with pytest.raises(AnalyzerError, match="nobody reads"):
        summarizer_of(RelaySettings(summarizer_prompt_file=str(path)))
    change(path)
    with pytest.raises(AnalyzerError) as caught:
        summarizer_of(RelaySettings(summarizer="true", summarizer_prompt_file=str(path)))
    assert says in f"{caught.value.message} {caught.value.hint}"


@pytest.mark.parametrize(
    ("code", "error"),
    [
        ("import sys; sys.exit('prompt is too long: 210000 tokens > 200000 maximum')", SummarizerLimitError),
        ("import sys; sys.exit('no credit')", SummarizerError),
        ("import time; time.sleep(60)", SummarizerError),
    ],
)
def test_a_command_that_fails(code: str, error: type[Exception]) -> None:
    """Its own full context is a limit; any other failure, a wait without end among them, is a failure."""
    with pytest.raises(error):
        CommandSummarizer(command(code), timeout_seconds=2.0)(session(), 2_000)


def test_a_command_that_prints_without_end_costs_no_memory() -> None:
    """The end of what it prints is kept; all of it would be hundreds of times that."""
    code = "import os; [os.write(1, b'words\\n' * 10_000) for _ in range(1_000)]; print('made')"
    text = CommandSummarizer(command(code))(session(), 2_000)
    assert text.endswith("words\nmade\n")
    assert len(text) <= 1024 * 1024


def test_a_command_that_leaves_somebody_behind() -> None:
    """Who holds its stdout after its end, and says nothing, is neither waited for nor left."""
    code = "import subprocess; print('made', subprocess.Popen(['sleep', '60']).pid)"
    began = time.monotonic()
    made, pid = CommandSummarizer(command(code))(session(), 2_000).split()
    assert made == "made"
    assert time.monotonic() - began < 30
    deadline = time.monotonic() + 50
    while Path(f"/proc/{pid}/stat").exists() and " Z " not in Path(f"/proc/{pid}/stat").read_text():
        assert time.monotonic() < deadline, "it was left behind"
        time.sleep(0.05)


def test_a_command_that_does_not_exist() -> None:
    """A summarizer that cannot be started is a failure with a hint."""
    with pytest.raises(SummarizerError, match="cannot start"):
        CommandSummarizer("no-such-summarizer")(session(), 2_000)


def test_a_transcript_is_what_the_main_agent_said_and_did() -> None:
    """Texts, calls and answers in order; a subagent's turns stay out."""
    call = {"type": "tool_use", "id": "t1", "name": "Bash", "input": {"command": "ls"}}
    answer = {"type": "tool_result", "tool_use_id": "t1", "content": [{"type": "text", "text": "a.py"}]}
    records = [
        {"type": "system", "subtype": "init"},
        {"type": "assistant", "message": {"content": [{"type": "text", "text": "I look."}, call]}},
        {"type": "assistant", "message": {"content": "hidden"}, "parent_tool_use_id": "t9"},
        {"type": "user", "message": {"content": [answer]}},
    ]
    found = transcript("Look", records, None, 1_000)
    assert [(turn.role, turn.text) for turn in found.turns] == [
        ("assistant", "I look."),
        ("tool", '{"command": "ls"}'),
        ("result", "a.py"),
    ]
    with pytest.raises(SummarizerLimitError):
        transcript("Look", records, None, 5)
