"""The document "Context Relay & Compaction": its steps, settings, checkpoint, events, edge cases and practices."""

from __future__ import annotations

import json
import os
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from analyzer.errors import AnalyzerError
from analyzer.events import EventLog
from analyzer.recovery import (
    Relay,
    RelayMonitor,
    RelaySettings,
    Streams,
    Transcript,
    Turn,
    supervise,
)
from analyzer.recovery.process.step_error import RelayHaltedError
from analyzer.recovery.relay.checkpoint import Checkpoint, CheckpointError, parse
from analyzer.recovery.relay.config import manifest
from analyzer.recovery.relay.monitor import OFTEN, Summarizer
from analyzer.recovery.relay.summarizer_limits import limited
from analyzer.recovery.relay.summarizers import instructions
from analyzer.store import open_store
from tests.recovery.supervised import agent, events

SESSION = Transcript("Add the endpoint", (Turn("assistant", "- [ ] the handler\n- [ ] the tests"),))

DOCUMENT = """\
# Relay Checkpoint

## Completed Work
- Wrote the reader in src/reader.py
- Made the table of shelves in db/004.sql
- Answered GET /shelves

## Current State
- Answering POST /shelves
- Names of shelves are checked, sizes are not
- The file of tests is empty

## Modified Files
- src/reader.py (new)
- src/shelves.py (new, half done)
- db/004.sql (new)
- src/routes.py (modified — /shelves)

## Remaining Work
1. Finish POST /shelves with its checks
2. Ask for a key
3. Test the reader
4. Test both answers
5. Tell of both in the manual

## Resume Instructions
Continue from step 1: src/shelves.py has the frame of the
answer to POST — the checks and the errors are missing.
"""

EVENTS = """\
{"timestamp":"2026-11-03T10:00:00Z","step_id":"implement","state":"running",\
"message":"Context relay triggered at 82% utilization",\
"meta":{"token_usage_percent":82,"strategy":"summarize_to_checkpoint"}}
{"timestamp":"2026-11-03T10:00:20Z","step_id":"implement","state":"running",\
"message":"Summarizer checkpoint complete","meta":{"checkpoint_tokens":1200}}
{"timestamp":"2026-11-03T10:00:25Z","step_id":"implement","state":"running",\
"message":"Resumed from relay checkpoint","meta":{"relay_count":1}}
"""


class Ran:
    """A supervised agent whose context filled up, and what it left."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.sessions: list[Transcript] = []
        monitor = RelayMonitor(RelaySettings(threshold_percent=80), step_id="implement")
        kept, nothing = os.dup(0), os.open(os.devnull, os.O_RDONLY)
        os.dup2(nothing, 0)
        try:
            with (folder / "out").open("wb") as out, EventLog(folder / "log") as log:
                self.run = supervise(
                    agent("filling", folder / "done", 9),
                    agent="craftsman",
                    log=log,
                    streams=Streams(out.fileno(), out.fileno()),
                    make_relay=lambda session: Relay(
                        monitor, folder / "checkpoints", summarizer=self._summarizer(), log=log, session=session
                    ),
                )
        finally:
            os.dup2(kept, 0)
            os.close(kept)
            os.close(nothing)
        self.done = (folder / "done").read_text().splitlines()
        by = [line.partition(" by ")[2] for line in self.done]
        self.first = by.count(by[0])
        """Items that the first instance has done; how many depends on how soon it was paused."""

    def _summarizer(self) -> Summarizer:
        from analyzer.recovery.relay.summarizers import summarize

        def seen(transcript: Transcript, cap: int) -> str:
            self.sessions.append(transcript)
            return summarize(transcript, cap)

        return seen

    def events(self, *types: str) -> list[dict[str, Any]]:
        """Payloads of the log."""
        return [event["payload"] for event in events(self.folder / "log", *types)]


@pytest.fixture(scope="module")
def ran(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Ran]:
    """One agent that fills its context once, run for all tests that look at it."""
    yield Ran(tmp_path_factory.mktemp("ran"))


class Step:
    """A step that hands off, without a process."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def relay(self, settings: RelaySettings | None = None, summarizer: Summarizer | None = None, **who: str) -> Relay:
        """The relay of one worker."""
        monitor = RelayMonitor(settings or RelaySettings(threshold_percent=80), **({"step_id": "implement"} | who))
        log = EventLog(self.folder / "log")
        return Relay(monitor, self.folder / "checkpoints", summarizer=summarizer, log=log, caller="craftsman")

    def events(self, *types: str) -> list[dict[str, Any]]:
        """Payloads of the log."""
        return [event["payload"] for event in events(self.folder / "log", *types)]


@pytest.fixture
def step(tmp_path: Path) -> Step:
    """A step."""
    return Step(tmp_path)


def hand_off(relay: Relay, session: Transcript = SESSION) -> Checkpoint:
    """A hand-off that succeeds, and a fresh instance that has answered."""
    relay.monitor.observe(170_000)
    checkpoint = relay.hand_off(lambda: session)
    assert checkpoint is not None
    relay.resumed(20_000)
    return checkpoint


# ─── How relay works ───


def test_003_32_monitor_token_usage_is_tracked_while_the_step_runs(ran: Ran) -> None:
    """The tokens in use are those of the agent's own last reply."""
    (triggered,) = ran.events("relay.triggered")
    assert 160_000 <= triggered["pre_tokens"] <= 200_000
    assert triggered["token_usage_percent"] == triggered["pre_tokens"] / 2_000


def test_003_33_trigger_at_the_threshold_and_not_below(step: Step) -> None:
    """At 80 % of the window the relay fires; a token less does not."""
    monitor = step.relay().monitor
    assert (monitor.observe(159_000), monitor.observe(160_000)) == (False, True)


def test_003_25_the_agent_is_paused_meanwhile(ran: Ran) -> None:
    """While its session is summarized an agent does nothing: no item is done twice or lost, over both instances."""
    items = [line.partition(" by ")[0] for line in ran.done]
    assert items == [f"item {number}" for number in range(1, 10)]


def test_003_34_summarize_a_separate_summarizer_gets_the_full_session(ran: Ran) -> None:
    """The summarizer is no part of the agent, and gets every turn of its session with its calls and their arguments."""
    (session,) = ran.sessions
    said = session.render()
    assert all(f"I do item {number}." in said for number in range(1, ran.first + 1))
    assert {turn.tool for turn in session.turns if turn.tool} == {"Write", "TodoWrite"}


def test_003_35_resume_a_fresh_instance_continues_from_the_checkpoint(ran: Ran) -> None:
    """Another instance of the same agent does the rest of the work, from the checkpoint only."""
    sessions = [line.partition(" by ")[2] for line in ran.done]
    assert len(set(sessions)) == 2
    assert sessions == sorted(sessions, key=sessions.index)
    assert (ran.run.exit_code, ran.run.relay_count) == (0, 1)


# ─── Configuration ───


def configured(text: str) -> Any:
    """What a file says of hand-offs."""
    found = manifest(tomllib.loads(text))
    assert found is not None
    return found


def test_003_44_setting_token_threshold_percent() -> None:
    """The threshold of all steps is read from the manifest."""
    found = configured("[runtime.relay]\ntoken_threshold_percent = 80\n")
    assert found.config.of_step("any").threshold_percent == 80
    assert any("threshold_percent" in note for note in found.notes)


def test_003_45_setting_strategy() -> None:
    """Summarizing to a checkpoint is the only strategy; another one is refused by its name."""
    found = configured('[runtime.relay]\nstrategy = "summarize_to_checkpoint"\n')
    assert found.config.settings.strategy == "summarize_to_checkpoint"
    with pytest.raises(AnalyzerError, match="truncate"):
        configured('[runtime.relay]\nstrategy = "truncate"\n')


def test_003_55_setting_trigger_of_a_step() -> None:
    """The trigger of a step is that step's own threshold, above the one of all steps."""
    found = configured(
        "[runtime.relay]\ntoken_threshold_percent = 60\n"
        '[[steps]]\nid = "implement"\n[steps.handover.compaction]\ntrigger = "token_limit_80%"\n'
    )
    assert found.config.of_step("implement").threshold_percent == 80
    assert found.config.of_step("review").threshold_percent == 60


PERSONA = """
[[steps]]
id = "implement"
[steps.handover.compaction]
trigger = "token_limit_80%"
persona = "summarizer"
[personas.summarizer]
adapter = "claude"
system_prompt_file = ".wave/personas/summarizer.md"
temperature = 0.0
permissions = { allowed_tools = ["Read"], deny = ["Write(*)", "Bash(*)"] }
"""


def test_003_56_setting_persona_of_a_step() -> None:
    """The persona of a step says who summarizes it; a persona that is not defined is refused."""
    settings = configured(PERSONA).config.of_step("implement")
    assert settings.summarizer == "claude -p"
    with pytest.raises(AnalyzerError, match="nobody"):
        configured(PERSONA.replace('persona = "summarizer"', 'persona = "nobody"'))


def test_003_70_the_summarizer_reads_and_does_nothing_else() -> None:
    """The persona's permissions are held: its command gets no tool but Read, and one that asks for Bash is refused."""
    settings = configured(PERSONA).config.of_step("implement")
    words = limited(settings.summarizer or "", settings.summarizer_limits).words
    assert "--tools=Read" in words
    for wish in ("Bash", "Write"):
        with pytest.raises(AnalyzerError, match="more than reading"):
            limited(f"claude -p --tools {wish}")
        with pytest.raises(AnalyzerError, match="allows"):
            configured(PERSONA.replace('["Read"]', f'["Read", "{wish}"]'))


def test_003_68_the_summarizer_is_deterministic_where_its_agent_can_be() -> None:
    """The summarizer runs at temperature 0 where its program has an option for it; another temperature is refused."""
    assert limited("llm").words[1:4] == ("-o", "temperature", "0")
    assert "no option" in (limited("claude -p").note or "")
    with pytest.raises(AnalyzerError, match="temperature"):
        configured(PERSONA.replace("temperature = 0.0", "temperature = 0.5"))


# ─── Checkpoint structure ───


def test_003_79_the_documents_own_checkpoint_is_one() -> None:
    """A checkpoint of the documented structure parses section by section, and renders as the same checkpoint again."""
    found = parse(DOCUMENT)
    assert len(found.completed_work) == len(found.current_state) == 3
    assert found.modified_files[1] == "src/shelves.py (new, half done)"
    assert found.remaining_work[0] == "Finish POST /shelves with its checks"
    assert len(found.remaining_work) == 5
    assert found.resume_instructions.startswith("Continue from step 1")
    assert parse(found.render()) == found


@pytest.mark.parametrize(
    "section", ["Completed Work", "Current State", "Modified Files", "Remaining Work", "Resume Instructions"]
)
def test_003_76_a_checkpoint_has_each_of_its_sections(section: str) -> None:
    """A document that lacks a section is no checkpoint, and says which one it lacks."""
    with pytest.raises(CheckpointError, match=section):
        parse(DOCUMENT.replace(f"## {section}", f"## Not {section}"))


def test_003_30_the_checkpoint_is_the_fresh_instances_first_context(ran: Ran) -> None:
    """The fresh instance begins with the checkpoint that was written, and with the work that remained."""
    (path,) = (ran.folder / "checkpoints").glob("*.md")
    assert parse(path.read_text()).remaining_work == tuple(f"item {number}" for number in range(ran.first + 1, 10))


# ─── Relay events ───


def test_003_112_the_documents_own_events_are_read(tmp_path: Path) -> None:
    """The three documented events are one hand-off in the store, with percentage, tokens and count."""
    (tmp_path / "events.ndjson").write_text(EVENTS)
    with open_store(":memory:") as store:
        store.ingest([str(tmp_path / "events.ndjson")])
        (row,) = store.sql(
            "select step_id, token_usage_percent, strategy, checkpoint_tokens, relay_count, outcome from relays"
        ).rows()
    assert row == ("implement", 82.0, "summarize_to_checkpoint", 1200, 1, "resumed")


def test_003_115_our_events_say_what_the_documents_do(ran: Ran) -> None:
    """Our own events have usage and strategy, tokens, and count, all of the same step."""
    triggered, checkpointed, resumed = ran.events("relay.triggered", "relay.checkpointed", "relay.resumed")
    assert triggered["strategy"] == "summarize_to_checkpoint"
    assert triggered["token_usage_percent"] >= triggered["threshold_percent"] == 80
    assert checkpointed["checkpoint_tokens"] > 0
    assert resumed["relay_count"] == 1
    assert {event["step_id"] for event in (triggered, checkpointed, resumed)} == {"implement"}


# ─── Edge cases ───


def test_003_124_a_session_beyond_the_summarizers_cap_halts(step: Step) -> None:
    """A session that the summarizer cannot hold halts the step instead of being summarized again and again."""
    relay = step.relay(RelaySettings(summarizer_token_cap=5))
    relay.monitor.observe(170_000)
    with pytest.raises(RelayHaltedError, match="summarizer's 5 tokens"):
        relay.hand_off(lambda: SESSION)
    (halted,) = step.events("relay.halted")
    assert "5 tokens" in halted["cause"]


def test_003_124_a_relay_that_frees_nothing_halts(step: Step) -> None:
    """Where the checkpoint alone fills the context again, the step halts: there is no compaction without end."""
    relay = step.relay()
    relay.monitor.observe(170_000)
    relay.hand_off(lambda: SESSION)
    with pytest.raises(RelayHaltedError):
        relay.resumed(170_000)


def test_003_128_multiple_relays_count_up_and_hand_on_the_newest_checkpoint(step: Step) -> None:
    """Each relay of a step raises its count, and the second fresh instance gets the second checkpoint only."""
    relay = step.relay()
    first = hand_off(relay)
    second = hand_off(relay, Transcript("Add the endpoint", (Turn("assistant", "- [ ] the docs"),)))
    assert [event["relay_count"] for event in step.events("relay.resumed")] == [1, 2]
    assert relay.checkpoint == second != first
    assert "the handler" not in second.render()


def test_003_132_workers_of_a_matrix_are_tracked_each_on_its_own(step: Step) -> None:
    """Worker A's relay leaves worker B's tokens, count and threshold as they were."""
    a, b = step.relay(worker_id="a"), step.relay(worker_id="b")
    b.monitor.observe(100_000)
    hand_off(a)
    assert (a.monitor.relay_count, b.monitor.relay_count, b.monitor.tokens) == (1, 0, 100_000)
    assert {event["worker_id"] for event in step.events()} == {"a"}


# ─── Best practices ───


def test_003_136_the_threshold_is_conservative_by_default() -> None:
    """The default threshold is conservative, and one above 100 % is refused."""
    assert RelaySettings().threshold_percent == 70
    with pytest.raises(AnalyzerError, match="no threshold"):
        configured("[runtime.relay]\ntoken_threshold_percent = 101\n")


def test_003_137_the_summarizer_is_asked_for_structure_and_not_for_a_story() -> None:
    """The summarizer is asked for all five headings, and for no narrative."""
    told = instructions(2_000)
    for words in ("## Completed Work", "## Remaining Work", "## Resume Instructions", "no narrative", "2,000 tokens"):
        assert words in told


def test_003_138_relay_is_for_the_steps_that_ask_for_it() -> None:
    """Where only one step has a compaction, that step hands off and the others do not."""
    found = configured('[[steps]]\nid = "implement"\n[steps.handover.compaction]\ntrigger = "token_limit_80%"\n')
    assert (set(found.config.steps), found.everywhere) == ({"implement"}, False)


def test_003_139_frequent_relays_are_told(step: Step) -> None:
    """A step that hands off often is advised to be split, in the event and by a query over the store."""
    relay = step.relay()
    for _ in range(OFTEN):
        hand_off(relay)
    advice = [event.get("advice") for event in step.events("relay.resumed")]
    assert advice[:-1] == [None] * (OFTEN - 1)
    assert "split" in advice[-1]
    with open_store(":memory:") as store:
        store.ingest([str(step.folder / "log")])
        (row,) = store.query("relays-by-step").to_dicts()
    assert (row["step_id"], row["relays"]) == ("implement", OFTEN)


def test_003_112_the_events_are_json_lines(step: Step) -> None:
    """Every event of a hand-off is one line that any JSON reader takes."""
    hand_off(step.relay())
    (path,) = (step.folder / "log").glob("*.jsonl")
    assert [json.loads(line)["type"] for line in path.read_text().splitlines()][:3] == [
        "relay.triggered",
        "relay.checkpointed",
        "relay.resumed",
    ]


# ─── The parts of a hand-off ───


def test_003_3_a_full_context_is_handed_to_a_fresh_instance(ran: Ran) -> None:
    """An agent whose context fills up ends its work in a fresh instance, and one hand-off is on record."""
    assert ran.run.exit_code == 0
    assert [len(ran.events(f"relay.{kind}")) for kind in ("triggered", "checkpointed", "resumed")] == [1, 1, 1]


@pytest.mark.parametrize("percent", [50, 80, 95])
def test_003_33_the_threshold_is_what_is_set(step: Step, percent: int) -> None:
    """A relay fires at the percentage that was configured, and not a token before."""
    monitor = step.relay(RelaySettings(threshold_percent=percent)).monitor
    assert (monitor.observe(2_000 * percent - 1), monitor.observe(2_000 * percent)) == (False, True)


def test_003_66_the_adapter_of_the_persona_summarizes() -> None:
    """The program that the persona names as its adapter is the one that writes the checkpoint."""
    settings = configured(PERSONA.replace('"claude"', '"codex"')).config.of_step("implement")
    assert settings.summarizer.startswith("codex")


@pytest.mark.parametrize("denied", ["Write", "Bash"])
def test_003_71_the_summarizer_may_neither_write_nor_run(denied: str) -> None:
    """A persona of a summarizer that allows writing or running commands is refused."""
    with pytest.raises(AnalyzerError, match="allows"):
        configured(PERSONA.replace('["Read"]', f'["{denied}"]'))


@pytest.mark.parametrize(
    "part", ["completed_work", "current_state", "modified_files", "remaining_work", "resume_instructions"]
)
def test_003_81_each_section_of_a_checkpoint_is_read(part: str) -> None:
    """Work done, state, files, work left and instructions are each a part of the checkpoint that can be read."""
    assert getattr(parse(DOCUMENT), part)


def test_003_115_a_trigger_says_usage_and_strategy(step: Step) -> None:
    """The event of a trigger has the percentage in use and the strategy."""
    hand_off(step.relay())
    (event,) = step.events("relay.triggered")
    assert (event["token_usage_percent"], event["strategy"]) == (85.0, "summarize_to_checkpoint")


def test_003_116_a_checkpoint_says_its_tokens(step: Step) -> None:
    """The event of a checkpoint has the number of its tokens."""
    checkpoint = hand_off(step.relay())
    (event,) = step.events("relay.checkpointed")
    assert event["checkpoint_tokens"] == checkpoint.tokens > 0


def test_003_117_a_resumption_says_its_count(step: Step) -> None:
    """The event of a resumption has the number of hand-offs of its step."""
    hand_off(step.relay())
    (event,) = step.events("relay.resumed")
    assert event["relay_count"] == 1


def test_003_128_after_several_relays_only_the_newest_checkpoint_is_left(step: Step) -> None:
    """After four relays the instance begins with the fourth checkpoint, and has nothing of the three before."""
    relay = step.relay()
    for number in range(1, 5):
        hand_off(relay, Transcript("Add the endpoint", (Turn("assistant", f"- [ ] chapter {number}"),)))
    assert relay.path is not None
    assert relay.checkpoint is not None
    assert parse(relay.path.read_text("utf-8")) == relay.checkpoint
    text = relay.checkpoint.render()
    assert [f"chapter {number}" in text for number in range(1, 5)] == [False, False, False, True]


def test_003_132_each_worker_has_its_own_checkpoint(step: Step) -> None:
    """Two workers of a matrix that both hand off have files, counts and events of their own."""
    a, b = step.relay(worker_id="a"), step.relay(worker_id="b")
    hand_off(a, Transcript("A", (Turn("assistant", "- [ ] left"),)))
    hand_off(b, Transcript("B", (Turn("assistant", "- [ ] right"),)))
    assert a.path != b.path
    assert (a.monitor.relay_count, b.monitor.relay_count) == (1, 1)
    assert [event["worker_id"] for event in step.events("relay.resumed")] == ["a", "b"]


def test_003_34_a_summarizer_that_fails_leaves_the_agent_at_work(step: Step) -> None:
    """Where no checkpoint can be made the agent goes on with what it has, and the event says why."""
    relay = step.relay(summarizer=lambda _session, _cap: "once upon a time")
    relay.monitor.observe(170_000)
    assert relay.hand_off(lambda: SESSION) is None
    (event,) = step.events("relay.skipped")
    assert event["cause"]
