"""`analyzer verdict` says what one run of an agent came to, in one answer that a pipeline can act on."""

from __future__ import annotations

import os
import signal
import sys
import tempfile
from typing import TYPE_CHECKING

import click

from analyzer.cli.options import PathsCommand, json_option, quiet_option, rules_option
from analyzer.cli.output import add_to_job_summary, append, narrate, text_layout, write
from analyzer.cli.signals import ending_on
from analyzer.errors import AnalyzerError

if TYPE_CHECKING:
    from analyzer.analysis.run_verdict import RunVerdict
    from analyzer.classifier import Ruleset


@click.command("verdict", cls=PathsCommand)
@click.argument("words", nargs=-1, metavar="[PATH]... | --run -- COMMAND...", type=click.UNPROCESSED)
@click.option("--exit-code", type=int, metavar="N", help="The exit code of the command that printed it.")
@click.option("--agent", metavar="NAME", help="Who printed a plain text: claude, codex, gemini and so on.")
@click.option("--run", "runs", is_flag=True, help="Run the COMMAND, hand its bytes on, and judge what it printed.")
@rules_option
@click.option("--junit", metavar="FILE", help="Write the answer there as JUnit XML, too.")
@json_option
@click.option("--output", "-o", metavar="FILE", help="Write there instead of to stdout; with --run, to stderr.")
@quiet_option
def command(
    words: tuple[str, ...],
    exit_code: int | None,
    agent: str | None,
    runs: bool,
    rules_path: str | None,
    junit: str | None,
    as_json: bool,
    output: str | None,
    quiet: bool,
) -> int:
    """Say what one run of an agent came to: passed, failed, retry, wait, blocked or hollow.

    It reads what the run printed, as JSON lines of an agent or as a text with --agent, in one file or several, its
    output first and its stderr behind it; without PATHs from stdin. `failed` is the work itself; `retry` tells the
    seconds, `wait` when a limit resets; `blocked` needs a person; `hollow` says success and did nothing. Each has an
    exit code of its own: 0, 10, 11, 12, 13, 14.

    In a job of GitHub Actions the answer is added to the summary and the outputs of the step, and marks the job.

    \b
      claude -p "Fix it" --output-format stream-json --verbose > run.ndjson
      analyzer verdict run.ndjson --exit-code $?
      analyzer verdict --run -- codex exec --json "Fix it"
      aider --message "Fix it" | analyzer verdict --agent aider
      analyzer verdict run.ndjson stderr.txt --json --junit verdict.xml
    """
    from analyzer.analysis.run_verdict import EXIT_CODES, run_verdict
    from analyzer.classifier.rules.loading import ruleset_for
    from analyzer.cli.settings import rules_in_use
    from analyzer.report.escape import json_text
    from analyzer.report.timeline import render_junit, render_verdict_text, workflow_annotation, workflow_outputs

    rules = ruleset_for(rules_in_use(rules_path))
    if runs:
        if not words or exit_code is not None:
            raise AnalyzerError("--run takes a command, and its exit code", "analyzer verdict --run -- COMMAND...")
        answer = _of_command(words, agent, rules, quiet)
    else:
        if not words and sys.stdin.isatty():
            raise AnalyzerError("nothing to judge", "give a PATH, a run's output on stdin, or --run -- COMMAND...")
        answer = run_verdict(words or ("-",), exit_code=exit_code, agent=agent, rules=rules)
    width, _ = text_layout(output)
    said = json_text(answer.to_dict()) if as_json else render_verdict_text(answer, width)
    if not runs or output is not None:
        write(said, output)
    elif not quiet:
        click.echo(said.rstrip("\n"), err=True)  # stdout is the command's
    if junit:
        write(render_junit(answer), junit)
    _tell_job(answer, workflow_outputs(answer), workflow_annotation(answer))
    return EXIT_CODES[answer.verdict]


def _of_command(words: tuple[str, ...], agent: str | None, rules: Ruleset, quiet: bool) -> RunVerdict:
    """Run a command as `analyzer run` does, and judge what it printed."""
    from analyzer.analysis.run_verdict import judge, read_course
    from analyzer.cli.output import complain
    from analyzer.errors import NOT_STARTED
    from analyzer.events.times import now
    from analyzer.recovery.process.group import ENDING, adopt_orphans
    from analyzer.recovery.supervision.instance import Streams
    from analyzer.recovery.supervision.supervisor import supervise

    agent = agent or os.path.basename(words[0])
    adopt_orphans()
    with tempfile.TemporaryDirectory(prefix="analyzer-") as folder:
        names = {1: "stdout", 2: "stderr"}
        paths = {number: os.path.join(folder, name) for number, name in names.items()}
        with open(paths[1], "wb") as out, open(paths[2], "wb") as err:
            kept = {1: out, 2: err}

            def keep(stream: int, data: bytes) -> None:
                kept[stream].write(data)

            with ending_on(each for each in ENDING if each != signal.SIGINT):
                done = supervise(
                    words,
                    agent=agent,
                    streams=Streams(watch=keep),
                    rules=rules,
                    say=lambda said: None if quiet else complain(said),
                )
            if done.exit_code == NOT_STARTED and done.error is not None:
                err.write(done.error.message.encode("utf-8", "replace"))
        courses = [read_course(paths[number], rules, names[number]) for number in names]
    return judge(courses, exit_code=done.exit_code, agent=agent, rules=rules, at=now())


def _tell_job(answer: RunVerdict, outputs: str, annotation: str) -> None:
    """Tell a job of GitHub Actions, where this is one; what cannot be written there is told on stderr."""
    from analyzer.report.timeline import render_verdict_markdown

    add_to_job_summary(lambda: render_verdict_markdown(answer))
    if path := os.environ.get("GITHUB_OUTPUT"):
        try:
            append(outputs, path)
        except AnalyzerError as error:
            narrate(f"the outputs of the step are not written: {error.message}")
    if annotation and os.environ.get("GITHUB_ACTIONS") == "true":
        narrate(annotation.rstrip("\n"))
