"""`analyzer run` end to end: scripted agents, real processes, and the report on the log that they leave."""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import pty
import shlex
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import click
import pytest

from analyzer.cli.signals import ending_on
from analyzer.recovery.process.group import ENDING
from tests import REPOSITORY
from tests.recovery.supervised import LINE, agent, events

CLI = (sys.executable, "-c", "from analyzer.cli import main; main()")
Done = subprocess.CompletedProcess[str]


class Place:
    """A folder to run the command line in."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.environment = {**os.environ, "PYTHONPATH": str(REPOSITORY), "PYTHONWARNINGS": "error"}
        self.environment.pop("ANALYZER_RULES", None)

    def __call__(self, *arguments: object, stdin: str = "") -> Done:
        """`analyzer ARGUMENTS`."""
        command = [*CLI, *map(str, arguments)]
        return subprocess.run(
            command, cwd=self.folder, env=self.environment, input=stdin, capture_output=True, text=True, timeout=120
        )

    def begin(self, *arguments: object, **how: Any) -> subprocess.Popen[bytes]:
        """The same, without waiting for its end."""
        return subprocess.Popen([*CLI, *map(str, arguments)], cwd=self.folder, env=self.environment, **how)

    def events(self, *types: str) -> list[dict[str, Any]]:
        """What the log holds."""
        return events(self.folder / "telemetry", *types)

    def pool(self) -> dict[str, Any]:
        """Who is out, as the file says."""
        path = self.folder / "pool.json"
        return json.loads(path.read_text())["agents"] if path.exists() else {}

    def rows(self, name: str) -> list[dict[str, Any]]:
        """The rows of a query over the store."""
        done = self("query", name, "--store", "s.duckdb", "--json")
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)["rows"]


@pytest.fixture
def analyzer(tmp_path: Path) -> Place:
    """The command line in an empty folder."""
    return Place(tmp_path)


def limited(analyzer: Place, line: str, exit_code: int) -> Done:
    """A run of the agent `claude`, in a pool, that prints a line and exits."""
    return analyzer("run", "--agent", "claude", "--pool", "pool.json", "--", *agent("usage_limit", line, exit_code))


def wait_until(true: Callable[[], bool], seconds: float = 20.0) -> None:
    """Waits for something to become true."""
    deadline = time.monotonic() + seconds
    while not true():
        assert time.monotonic() < deadline, "it never came"
        time.sleep(0.02)


def test_actual_exhaustion(analyzer: Place) -> None:
    """The signature on stdout and exit code 1: the agent leaves the pool, and its output and exit code pass through."""
    done = limited(analyzer, LINE, 1)
    assert (done.stdout, done.returncode) == (f"{LINE}\n", 1)
    assert set(analyzer.pool()) == {"claude"}
    (event,) = analyzer.events("agent.exhausted")
    assert (event["payload"]["agent"], event["payload"]["exit_code"]) == ("claude", 1)


def test_a_refused_credential_says_how_it_is_renewed(analyzer: Place) -> None:
    """On the terminal and in the log: what a person needs, and no instruction for programmers."""
    done = limited(analyzer, "API Error: 401 invalid x-api-key", 1)
    assert "ANTHROPIC_API_KEY" in done.stderr
    assert "https://console.anthropic.com/settings/keys" in done.stderr
    assert "claude /login" in done.stderr
    assert "Tell the user" not in done.stderr
    (event,) = analyzer.events("error.classified")
    assert event["payload"]["remediation"] in done.stderr


def test_an_agent_that_is_out_is_not_started(analyzer: Place) -> None:
    """Until the reset another run ends with 75 at once, and says why; it starts when it may wait so long."""
    reset = int((datetime.now(UTC) + timedelta(hours=2)).timestamp())
    limited(analyzer, f"Claude AI usage limit reached|{reset}", 1)
    done = limited(analyzer, "not printed", 0)
    assert (done.returncode, done.stdout) == (75, "")
    assert "claude is out of the pool until" in done.stderr
    assert len(analyzer.events("call.short_circuited")) == 1
    reset = int((datetime.now(UTC) + timedelta(seconds=4)).timestamp())
    (analyzer.folder / "pool.json").unlink()
    limited(analyzer, f"Claude AI usage limit reached|{reset}", 1)
    done = limited(analyzer, "printed after the wait", 0)
    assert (done.returncode, done.stdout) == (0, "printed after the wait\n")
    assert datetime.now(UTC).timestamp() >= reset
    assert len(analyzer.events("agent.restored")) == 1


def test_a_configuration_that_others_may_write_names_no_command(analyzer: Place) -> None:
    """It is looked for in all folders above, and one of them may be everybody's: nothing is started by it."""
    settings = analyzer.folder / "analyzer.toml"
    settings.write_text('[relay]\nsummarizer = "touch planted"\n')
    (analyzer.folder / "below").mkdir()
    command = [*CLI, "run", "--", "true"]
    for mode, code in ((0o666, 2), (0o664, 0)):
        settings.chmod(mode)
        done = subprocess.run(
            command, cwd=analyzer.folder / "below", env=analyzer.environment, capture_output=True, text=True, timeout=60
        )
        assert done.returncode == code, done.stderr
        assert ("others may write it" in done.stderr) is (code != 0)


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() != 0, reason="only root can play another user")
@pytest.mark.parametrize("table", ["[relay]", "[runtime.relay]"], ids=["ours", "a manifest's"])
def test_a_configuration_of_another_user_names_no_command(analyzer: Place, table: str) -> None:
    """Nor does a manifest beside it."""
    settings = analyzer.folder / "analyzer.toml"
    settings.write_text(f'{table}\nsummarizer = "touch planted"\n')
    os.chown(settings, 65534, 65534)
    done = analyzer("run", "--", "touch", "started")
    assert (done.returncode, "others may write it" in done.stderr) == (2, True), done.stderr
    assert not (analyzer.folder / "started").exists()


def test_a_pool_that_cannot_be_written_takes_nothing_from_the_run(analyzer: Place) -> None:
    """The command's exit code, its failure and its usage limit are logged; stderr says why it stays in the pool."""
    (analyzer.folder / "pool.json.lock").symlink_to("nowhere/lock")
    done = limited(analyzer, LINE, 7)
    assert (done.returncode, done.stdout) == (7, f"{LINE}\n")
    assert "stays in the pool: cannot use the state file pool.json" in done.stderr
    assert [event["payload"]["exit_code"] for event in analyzer.events("agent.exhausted")] == [7]
    assert [event["payload"]["outcome"] for event in analyzer.events("error.classified")] == ["surfaced"]


def test_nobody_reads_the_narration(analyzer: Place) -> None:
    """Where the reader of stderr has gone, the command still ends as it would, with its own exit code."""
    reading, writing = os.pipe()
    os.close(reading)
    with analyzer.begin(
        "run", "--", "sh", "-c", "echo printed; exit 3", stdout=subprocess.PIPE, stderr=writing
    ) as done:
        os.close(writing)
        assert done.communicate(timeout=60)[0] == b"printed\n"
    assert done.returncode == 3


@pytest.mark.parametrize("closed", ["<&-", ">&-", "2>&-", "<&- >&- 2>&-"])
def test_streams_that_are_closed_lend_their_numbers_to_no_file(analyzer: Place, closed: str) -> None:
    """What the command prints there goes nowhere, and into no log; its exit code is ours."""
    words = " ".join(["run", "--", "sh", "-c", "'echo out; echo err >&2; exit 5'"])
    script = f'"$@" {words} {closed}'
    done = subprocess.run(
        ["sh", "-c", script, "sh", *CLI],
        cwd=analyzer.folder,
        env=analyzer.environment,
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert done.returncode == 5, done.stderr
    assert done.stdout == ("" if ">&- " in f"{closed} ".replace("2>&-", "") else "out\n")
    (failure,) = analyzer.events("error.classified")
    assert failure["payload"]["facts"]["exit_code"] == 5


def test_what_a_day_of_runs_leaves_is_in_the_report(analyzer: Place) -> None:
    """Limits, full contexts, hangs, a flaky network and relays: ingest reads the log, report and queries show it."""
    hour = int((datetime.now(UTC) + timedelta(hours=1)).timestamp())
    assert limited(analyzer, f"Claude AI usage limit reached|{hour}", 1).returncode == 1
    assert analyzer("run", "--agent", "full", "--", *agent("context_exhaustion")).returncode == 1
    hang = ("run", "--agent", "hang", "--timeout", 1, "--grace", 0.3, "--", *agent("hang", "ids"))
    assert analyzer(*hang).returncode == 124
    flaky = ("run", "--agent", "flaky", "--retries", 1, "--")
    assert analyzer(*flaky, *agent("flaky", "starts", 2)).returncode == 0
    assert analyzer(*flaky, *agent("flaky", "others", 9)).returncode == 1
    filling = (
        "run",
        "--agent",
        "filling",
        "--relay",
        "70%",
        "--step",
        "implement",
        "--",
        *agent("filling", "done", 14),
    )
    assert analyzer(*filling).returncode == 0
    read = analyzer("ingest", "--strict", "telemetry", "--store", "s.duckdb")
    assert read.returncode == 0, read.stderr
    rows = analyzer.rows("errors-by-reason-caller-outcome")
    assert {(row["reason"], row["caller"], row["outcome"]): row["errors"] for row in rows} == {
        ("rate_limited", "claude", "surfaced"): 1,
        ("context_overflow", "full", "surfaced"): 1,
        ("network_transient", "hang", "surfaced"): 1,
        ("network_transient", "flaky", "recovered"): 1,
        ("network_transient", "flaky", "exhausted"): 2,
    }
    (retries,) = analyzer.rows("retries-outcomes")
    assert (retries["chains"], retries["recovered"], retries["exhausted"], retries["attempts"]) == (2, 1, 1, 4)
    assert retries["waited_seconds"] >= 2 * 0.8
    (relays,) = analyzer.rows("relays-by-step")
    assert (relays["step_id"], relays["relays"], relays["most_in_one_session"], relays["halted"]) == (
        "implement",
        2,
        2,
        0,
    )
    (exhausted,) = analyzer.rows("exhaustions-list")
    assert exhausted["agent"] == "claude"
    report = analyzer("report", "--store", "s.duckdb", "--output", "report.html")
    assert report.returncode == 0
    assert "Usage limit reached 1 time" in report.stdout
    assert "2 hand-offs in 1 step" in analyzer("report", "--store", "s.duckdb", "-f", "markdown").stdout


def test_a_relay_halts_the_run(analyzer: Place) -> None:
    """Where the summarizer cannot hold the session the run ends with 125, and no fresh instance is started."""
    (analyzer.folder / "analyzer.toml").write_text("[relay]\nsummarizer_token_cap = 50\n")
    done = analyzer("run", "--", *agent("filling", "done", 14))
    assert done.returncode == 125
    assert "relay halted" in done.stderr
    assert [event["type"] for event in analyzer.events()][-2:] == ["relay.halted", "session.observed"]
    sessions = {line.rpartition(" by ")[2] for line in (analyzer.folder / "done").read_text().splitlines()}
    assert len(sessions) == 1


def test_a_summarizer_that_fails_lets_the_agent_go_on(analyzer: Place) -> None:
    """The paused agent continues where it was, and finishes."""
    words = ("run", "--relay", "70", "--summarizer", "false", "--", *agent("filling", "done", 8))
    done = analyzer(*words)
    assert done.returncode == 0, done.stderr
    assert "relay.skipped" in {event["type"] for event in analyzer.events()}
    assert len((analyzer.folder / "done").read_text().splitlines()) == 8


def test_a_context_that_overflows_is_compressed_once(analyzer: Place) -> None:
    """With a relay, a full context that came too suddenly is handed off and tried again; a second one is escalated."""
    overflowing = ("run", "--agent", "full", "--relay", "99", "--", *agent("context_exhaustion"))
    assert analyzer(*overflowing).returncode == 1
    assert [event["payload"]["attempt"] for event in analyzer.events("error.classified")] == [1, 2]
    (settled,) = analyzer.events("retry.settled")
    assert (settled["payload"]["outcome"], settled["payload"]["reason"]) == ("escalated", "context_overflow")


def test_configuration_by_step(analyzer: Place) -> None:
    """analyzer.toml sets threshold and summarizer for a step; the options stand above it."""
    (analyzer.folder / "analyzer.toml").write_text(
        '[relay]\nthreshold_percent = 90\n[relay.steps.implement]\nthreshold_percent = "token_limit_40%"\n'
    )
    for words in (("--step", "implement"), ("--step", "review"), ("--step", "implement", "--relay", "60")):
        assert analyzer("run", *words, "--", *agent("filling", "done", 5)).returncode == 0
    found = [event["payload"]["threshold_percent"] for event in analyzer.events("relay.triggered")]
    assert found == [40.0, 60.0]


SUMMARIZER = """#!/bin/sh
echo "$@" >> asked
cat > /dev/null
printf '# Relay Checkpoint\\n\\n## Completed Work\\n- a\\n\\n## Current State\\n- b\\n\\n## Modified Files\\n- c\\n\\n'
printf '## Remaining Work\\n1. item 9\\n\\n## Resume Instructions\\nGo on.\\n'
"""


def test_a_manifests_step_hands_off_by_a_summarizer_that_only_reads(analyzer: Place) -> None:
    """Threshold and summarizer come from a pipeline's own names; the agent gets its limits, both are told."""
    (analyzer.folder / "bin").mkdir()
    program = analyzer.folder / "bin" / "claude"
    program.write_text(SUMMARIZER)
    program.chmod(0o755)
    analyzer.environment["PATH"] = f"{program.parent}:{analyzer.environment['PATH']}"
    (analyzer.folder / "analyzer.toml").write_text(
        '[runtime.relay]\ntoken_threshold_percent = 99\nstrategy = "summarize_to_checkpoint"\n'
        '[[steps]]\nid = "implement"\n[steps.handover.compaction]\ntrigger = "token_limit_50%"\npersona = "brief"\n'
        '[personas.brief]\nadapter = "claude"\nsystem_prompt_file = "brief.md"\n'
    )
    nowhere = analyzer("run", "--step", "implement", "--", "touch", "started")
    assert (nowhere.returncode, (analyzer.folder / "started").exists()) == (2, False)
    assert "brief.md: the summarizer's prompt cannot be read" in nowhere.stderr
    (analyzer.folder / "brief.md").write_text("Nouns only.")
    done = analyzer("run", "--step", "implement", "--", *agent("filling", "done", 9))
    assert done.returncode == 0, done.stderr
    assert (analyzer.folder / "asked").read_text() == "--tools=Read --strict-mcp-config -p\n"
    assert "token_threshold_percent is read as [relay] threshold_percent" in done.stderr
    assert "the summarizer claude runs with --tools=Read --strict-mcp-config" in done.stderr
    (triggered,) = analyzer.events("relay.triggered")
    assert triggered["payload"]["threshold_percent"] == 50
    quiet = analyzer("run", "--quiet", "--relay", "50", "--summarizer", "claude -p --tools Bash", "--", "true")
    assert (quiet.returncode, "--summarizer-limits none" in quiet.stderr) == (2, True)
    written = ("--summarizer", "claude -p --tools Bash", "--summarizer-limits", "none")
    assert analyzer("run", "--relay", "50", *written, "--", *agent("filling", "again", 9)).returncode == 0
    assert (analyzer.folder / "asked").read_text().endswith("-p --tools Bash\n")


@pytest.mark.skipif(sys.platform != "linux", reason="the peak of a process is read from /proc")
def test_a_hundred_megabytes_pass_in_flat_memory(analyzer: Place) -> None:
    """100 MB arrive as they were printed, and cost no memory."""
    script = "import hashlib, sys; print(hashlib.file_digest(sys.stdin.buffer, 'sha256').hexdigest())"
    expected = subprocess.run([*agent("bulk", 100)], capture_output=True, check=True).stdout
    code = f"""if True:
        import pathlib, re, sys
        from analyzer.cli import call
        code = call(["run", "--", *{agent("bulk", 100)!r}])
        print(re.search(r"VmHWM:\\s+(\\d+)", pathlib.Path("/proc/self/status").read_text())[1], file=sys.stderr)
        sys.exit(code)
    """
    running = subprocess.Popen(
        [sys.executable, "-c", code],
        cwd=analyzer.folder,
        env=analyzer.environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    digest = subprocess.run([sys.executable, "-c", script], stdin=running.stdout, capture_output=True, text=True)
    _, stderr = running.communicate()
    assert running.returncode == 0
    assert digest.stdout.strip() == hashlib.sha256(expected).hexdigest()
    assert int(stderr) < 60_000


@pytest.mark.parametrize("number", ENDING, ids=lambda number: number.name)
def test_interrupted(analyzer: Place, number: int) -> None:
    """Every signal that would end us ends the whole group, also one that ignores SIGTERM, with a shell's exit code."""
    path = analyzer.folder / "ids"
    before = signal.signal(number, signal.SIG_DFL)  # nohup and shells have children ignore some
    try:
        running = analyzer.begin("run", "--grace", "0.3", "--", *agent("hang", "ids"), stdout=subprocess.PIPE)
    finally:
        signal.signal(number, before)
    assert running.stdout is not None
    with running.stdout as out:
        assert b"s-hang" in out.readline()
        running.send_signal(number)
        assert running.wait(20) == 128 + number
    for pid in map(int, path.read_text().split()):
        wait_until(
            lambda pid=pid: not Path(f"/proc/{pid}/cmdline").exists() or not Path(f"/proc/{pid}/cmdline").read_bytes()
        )


def lives(pid: int) -> bool:
    """Whether a process runs; one that has ended and waits for its parent does not."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(") ")[2][0] != "Z"
    except OSError:
        return False


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere the group alone is ended")
class TestStrays:
    """What has left the group of its command."""

    @pytest.mark.parametrize("how", ["beside", "orphaned"])
    def test_what_left_the_group_is_ended_with_its_agent(self, analyzer: Place, how: str) -> None:
        """A grandchild that calls setsid and ignores SIGTERM, its parent alive or not, does not outlive the timeout."""
        line = ("id", "run", "--timeout", "600", "--grace", "0.2", "--", *agent("leaver", "id", how))
        done = subprocess.run(
            [sys.executable, "-m", "tests.recovery.timing_out", *line],
            cwd=analyzer.folder,
            env={**analyzer.environment, "PYTHONPATH": str(REPOSITORY)},
            check=False,
        )
        assert done.returncode == 124
        assert not lives(int((analyzer.folder / "id").read_text()))

    def test_a_daemon_is_ended_with_an_agent_that_a_signal_ends(self, analyzer: Place) -> None:
        """As where its time is over."""
        line = ("run", "--grace", "0.2", "--", *agent("leaver", "id", "orphaned"))
        running = analyzer.begin(*line, stdout=subprocess.PIPE)
        assert running.stdout is not None
        with running.stdout as out:
            assert out.readline() == b"left\n"
            running.terminate()
            assert running.wait(20) == 143
        assert not lives(int((analyzer.folder / "id").read_text()))

    def test_a_daemon_of_one_try_is_gone_before_the_next(self, analyzer: Place) -> None:
        """As the rest of its group is."""
        script = f"{sys.executable} {agent('leaver')[1]} id$$ orphaned 0; echo 'API Error: 529 Overloaded' >&2; exit 1"
        analyzer("run", "--retries", "1", "--grace", "0.2", "--", "sh", "-c", script)
        first, second = sorted(analyzer.folder.glob("id*"), key=lambda path: path.stat().st_mtime_ns)
        assert [lives(int(path.read_text())) for path in (first, second)] == [False, True]
        os.kill(int(second.read_text()), signal.SIGKILL)

    def test_what_a_command_leaves_behind_by_itself_is_left_alone(self, analyzer: Place) -> None:
        """A server that was started on purpose."""
        assert analyzer("run", "--grace", "0.2", "--", *agent("leaver", "id", "orphaned", 0)).returncode == 0
        pid = int((analyzer.folder / "id").read_text())
        assert lives(pid)
        os.kill(pid, signal.SIGKILL)

    def test_the_jobs_of_a_shell_that_became_the_run_are_left_alone(self, analyzer: Place) -> None:
        """They are children of ours, and were there before."""
        command = shlex.join([*CLI, "run", "--timeout", "1", "--grace", "0.2", "--", "sleep", "600"])
        script = f"(sleep 600 & echo $! > job; exec sleep 600) & echo $! > parent; exec {command}"
        ran = subprocess.run(["sh", "-c", script], cwd=analyzer.folder, env=analyzer.environment, timeout=60)
        pids = [int((analyzer.folder / name).read_text()) for name in ("job", "parent")]
        assert (ran.returncode, [lives(pid) for pid in pids]) == (124, [True, True])
        for pid in pids:
            os.kill(pid, signal.SIGKILL)

    def test_orphans_that_end_are_forgotten_while_the_agent_works(self, analyzer: Place) -> None:
        """An agent that orphans a process with each of its tools would fill the machine's list of processes."""
        script = "for n in 1 2 3 4 5 6 7 8; do (true &); done; echo made; exec sleep 600"
        running = analyzer.begin("run", "--grace", "0.2", "--", "sh", "-c", script, stdout=subprocess.PIPE)
        assert running.stdout is not None
        assert running.stdout.readline() == b"made\n"
        children = Path(f"/proc/{running.pid}/task/{running.pid}/children")
        wait_until(lambda: len(children.read_text().split()) == 1)
        running.terminate()
        assert running.wait(20) == 143
        running.stdout.close()

    def test_the_end_of_a_summarizer_spares_the_agent_beside_it(self, tmp_path: Path) -> None:
        """Of two commands that run beside each other, the daemons of the earlier one are none of the later one's."""
        program = (
            "import sys\n"
            "from analyzer.recovery.process.group import start\n"
            "from analyzer.recovery.process.group import adopt_orphans\n"
            "adopt_orphans()\n"
            "quiet = lambda data: None\n"
            "for name in ('agent', 'summarizer'):\n"
            "    leaver = [sys.executable, sys.argv[1], name, 'orphaned', '0']\n"
            "    process = start(leaver, stdin=None, stdout=1, stderr=2, watches=(quiet, quiet))\n"
            "    input()\n"
            "process.end(0)\n"
            "input('ended')\n"
        )
        running = subprocess.Popen(
            [sys.executable, "-c", program, agent("leaver")[1]],
            cwd=tmp_path,
            env={**os.environ, "PYTHONPATH": str(REPOSITORY)},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        with running:
            assert running.stdin is not None and running.stdout is not None
            for _ in range(2):
                assert running.stdout.readline() == "left\n"
                running.stdin.write("\n")
                running.stdin.flush()
            assert running.stdout.read(5) == "ended"
            pids = [int((tmp_path / name).read_text()) for name in ("agent", "summarizer")]
            assert [lives(pid) for pid in pids] == [True, False]
            running.kill()
        os.kill(pids[0], signal.SIGKILL)


def test_what_never_raises_into_its_host_takes_no_signal() -> None:
    """A signal that comes while the log is opened ends the run, though errors of a log are kept from hosts."""
    with pytest.raises(click.exceptions.Exit) as ended, ending_on([signal.SIGTERM]), contextlib.suppress(Exception):
        signal.raise_signal(signal.SIGTERM)
    assert ended.value.exit_code == 143


@pytest.mark.parametrize(("number", "exit_code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_an_interrupted_chain_is_settled(analyzer: Place, number: int, exit_code: int) -> None:
    """Ctrl-C and SIGTERM while the next try is waited for end the chain as aborted."""
    running = analyzer.begin("run", "--retries", "2", "--", *agent("flaky", "starts", 9), stdin=subprocess.DEVNULL)
    wait_until(lambda: bool(analyzer.events("retry.scheduled")))
    running.send_signal(number)
    assert running.wait(20) == exit_code
    (settled,) = analyzer.events("retry.settled")
    assert settled["payload"]["outcome"] == "aborted"


def test_a_terminal_is_lent_to_who_reads_it(analyzer: Place) -> None:
    """A command that asks its terminal gets it, though it runs in a group of its own."""
    pid, terminal = pty.fork()
    if pid == 0:
        os.chdir(analyzer.folder)
        os.execve(CLI[0], [*CLI, "run", "--", "sh", "-c", "read answer; echo got $answer"], analyzer.environment)
    os.write(terminal, b"yes\n")
    said = b""
    while b"got yes" not in said:
        said += os.read(terminal, 1024)
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0
    os.close(terminal)


def test_a_summarizer_of_nothing_is_refused(analyzer: Place) -> None:
    """An option of hand-offs where nothing is handed off is told, not left aside."""
    for words in (("--summarizer", "true"), ("--summarizer-limits", "none")):
        done = analyzer("run", *words, "--", "touch", "started")
        assert (done.returncode, (analyzer.folder / "started").exists()) == (2, False)
        assert f"{words[0]} without a relay" in done.stderr


def test_usage_that_makes_no_sense_starts_nothing(analyzer: Place) -> None:
    """Bad options and a bad analyzer.toml are told before the command is started."""
    (analyzer.folder / "analyzer.toml").write_text("[relay]\nstrategy = 'forget'\n")
    for words in (("--retries", "-1"), ("--timeout", "0"), ("--relay", "150"), ()):
        done = analyzer("run", *words, "--", "touch", "started")
        assert done.returncode == 2, words
        assert not (analyzer.folder / "started").exists()
    assert analyzer("run").returncode == 2
