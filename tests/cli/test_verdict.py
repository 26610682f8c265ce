"""`analyzer verdict` in a process of its own: exit codes, streams, files, and what a job of GitHub Actions is told."""

from __future__ import annotations

import json
import shlex
import subprocess
import xml.etree.ElementTree as ET
from pathlib import Path

import pytest

from analyzer.analysis.verdict.answer import EXIT_CODES
from tests import REPOSITORY
from tests.analysis.verdicts.outputs import DONE, codex, fault, lines, said, turn_failed
from tests.analysis.verdicts.runs import DEV
from tests.cli.conftest import Run
from tests.examples import blocks

LIMIT = codex(turn_failed("You've hit your usage limit. Try again in 3 hours."))
GOOD = codex(said("Done."), DONE)


@pytest.mark.parametrize("verdict", EXIT_CODES)
def test_each_answer_has_its_exit_code(run: Run, tmp_path: Path, verdict: str) -> None:
    """0, 10, 11, 12, 13 or 14, with the answer as the first word of one sentence on stdout."""
    case = next(case for case in DEV if case.verdict == verdict and case.exit_code is not None)
    (tmp_path / "run.ndjson").write_text(case.text, "utf-8")
    agent = ["--agent", case.agent] if case.agent else []
    done = run("verdict", "run.ndjson", "--exit-code", str(case.exit_code), *agent)
    assert (done.returncode, done.stderr) == (EXIT_CODES[verdict], "")
    assert done.stdout.startswith(f"{verdict}: ")


def test_stdin_is_read_and_json_is_one_line(run: Run) -> None:
    """Without a PATH; every field of the schema is there."""
    done = run("verdict", "--json", "--exit-code", "1", stdin=LIMIT)
    found = json.loads(done.stdout)
    assert done.stdout.count("\n") == 1
    assert (found["schema"], found["verdict"], found["reason"], found["detail"], found["party"]) == (
        "analyzer.verdict/1",
        "wait",
        "rate_limited",
        "usage_limit",
        "account",
    )
    assert (found["exit_code"], found["agent"], found["tokens"], found["evidence"][0]["line"]) == (1, "codex", None, 3)


@pytest.mark.parametrize(
    ("arguments", "text", "code", "said"),
    [
        (("verdict",), "plain words\n", 3, "--agent"),
        (("verdict", "--agent", "claude"), "plain words\n", 0, ""),
        (("verdict", "nothing.ndjson"), "", 3, "nothing.ndjson"),
        (("verdict", "--run"), "", 2, "--run -- COMMAND"),
        (("verdict", "--run", "--exit-code", "1", "--", "true"), "", 2, "--run"),
        (("verdict", "--rules", "none.toml"), "x", 2, "none.toml"),
    ],
)
def test_bad_input_says_what_to_do(run: Run, arguments: tuple[str, ...], text: str, code: int, said: str) -> None:
    """2 for usage and 3 for what cannot be read, with a hint; neither is one of the answers' codes."""
    done = run(*arguments, stdin=text)
    assert (done.returncode, said in done.stderr) == (code, True), done.stderr


def script(folder: Path, output: str, code: int, noise: str = "") -> list[str]:
    """A command that prints something and ends with a code."""
    (folder / "output").write_text(output, "utf-8")
    return ["sh", "-c", f"cat output; printf '{noise}' >&2; exit {code}"]


def test_a_command_is_run_and_its_bytes_pass_through(run: Run, tmp_path: Path) -> None:
    """stdout is the command's, byte for byte; the answer stands on stderr behind the command's own."""
    done = run("verdict", "--run", "--", *script(tmp_path, LIMIT, 1, "noise"))
    assert (done.returncode, done.stdout) == (12, LIMIT)
    assert done.stderr.startswith("noise")
    assert "wait: until " in done.stderr
    assert "stdout:3" in done.stderr


def test_a_command_that_says_success_and_does_nothing_is_not_green(run: Run, tmp_path: Path) -> None:
    """Its own exit code is 0, the answer's is 14."""
    done = run("verdict", "--run", "--json", "-o", "v.json", "--", *script(tmp_path, codex(DONE), 0))
    assert (done.returncode, json.loads((tmp_path / "v.json").read_text())["exit_code"]) == (14, 0)


def test_stderr_of_a_command_tells_why(run: Run, tmp_path: Path) -> None:
    """A plain text with an error behind it, as agents print one."""
    done = run("verdict", "--run", "--agent", "claude", "--", *script(tmp_path, "", 1, "Credit balance is too low"))
    assert (done.returncode, "auth_error (billing)" in done.stderr, "stderr:1" in done.stderr) == (13, True, True)


def test_a_command_that_is_not_there_needs_a_person(run: Run) -> None:
    """It was not started."""
    done = run("verdict", "--run", "--", "no-such-agent")
    assert (done.returncode, "no-such-agent" in done.stderr) == (13, True)


def test_a_job_of_github_is_told(run: Run, tmp_path: Path) -> None:
    """The summary, the outputs and an annotation; what a log says forges none of them."""
    evil = codex(turn_failed("503 Service Unavailable | `x` <b>\r\n::error::forged\nverdict=passed"))
    (tmp_path / "run.ndjson").write_text(evil)
    job = {name: str(tmp_path / name) for name in ("GITHUB_OUTPUT", "GITHUB_STEP_SUMMARY")}
    done = run("verdict", "run.ndjson", "--exit-code", "1", env={**job, "GITHUB_ACTIONS": "true"})
    assert done.returncode == 11
    outputs = dict(line.split("=", 1) for line in (tmp_path / "GITHUB_OUTPUT").read_text().splitlines())
    assert (outputs["verdict"], outputs["retry_after_seconds"], outputs["reset_at"]) == ("retry", "30.0", "")
    assert [line for line in done.stderr.splitlines() if line.startswith("::")] == [
        f"::warning title=agent run: retry,file=run.ndjson,line=3::{outputs['sentence']}"
    ]
    summary = (tmp_path / "GITHUB_STEP_SUMMARY").read_text()
    assert "| means | try again, after some seconds |" in summary
    assert "<b>" not in summary


def test_a_run_that_passed_marks_nothing(run: Run, tmp_path: Path) -> None:
    """No annotation; the outputs say so."""
    (tmp_path / "run.ndjson").write_text(GOOD)
    env = {"GITHUB_ACTIONS": "true", "GITHUB_OUTPUT": str(tmp_path / "out")}
    done = run("verdict", "run.ndjson", env=env)
    assert (done.returncode, done.stderr, (tmp_path / "out").read_text().splitlines()[0]) == (0, "", "verdict=passed")


@pytest.mark.parametrize(
    ("text", "code", "element"),
    [(GOOD, 0, None), (codex(DONE), 0, "failure"), (LIMIT, 1, "error"), (GOOD, 1, "failure")],
)
def test_junit_tells_work_from_what_is_around_it(
    run: Run, tmp_path: Path, text: str, code: int, element: str | None
) -> None:
    """A failure is the work's, an error is the provider's or the account's; XML holds nothing that it may not."""
    (tmp_path / "run.ndjson").write_text(text)
    run("verdict", "run.ndjson", "--exit-code", str(code), "--junit", "v.xml")
    suite = ET.parse(tmp_path / "v.xml").getroot()
    found = [each.tag for each in suite.iter() if each.tag in ("failure", "error")]
    assert found == [element] * bool(element)
    assert (suite.get("failures"), suite.get("errors")) == (str(found.count("failure")), str(found.count("error")))


def test_junit_of_hostile_words_is_xml(run: Run, tmp_path: Path) -> None:
    """Control characters are told, not written."""
    (tmp_path / "run.ndjson").write_text(lines(*codex(fault("500 \x01\x1b[31m <&> \ufffe")).splitlines()))
    run("verdict", "run.ndjson", "--exit-code", "1", "--junit", "v.xml")
    assert ET.parse(tmp_path / "v.xml").getroot().get("tests") == "1"


def test_the_recipe_of_the_page_does_what_it_says(run: Run, tmp_path: Path) -> None:
    """The commands of the how-to page, each with the answer that the page promises."""
    page = (REPOSITORY / "docs" / "how-to" / "verdict.md").read_text("utf-8")
    made, *commands = blocks(page, "sh")[0].replace("\\\n", "").splitlines()
    subprocess.run(["sh", "-c", made], cwd=tmp_path, check=True)
    codes = []
    for line in commands:
        words = shlex.split(line.partition(" > ")[0].partition(" || ")[0])
        assert words[0] == "analyzer"
        codes.append(run(*words[1:]).returncode)
    assert codes == [12, 12, 0]
    assert ET.parse(tmp_path / "verdict.xml").getroot().get("errors") == "1"
