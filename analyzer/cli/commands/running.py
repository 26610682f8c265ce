"""Run an agent's command: `analyzer run` supervises it, `analyzer verdict` judges its outcome."""

from __future__ import annotations

import os
import signal
import sys
import tempfile
from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING

import click

from analyzer.cli.inputs import path_in_config, rules_in_use, ruleset_in_use, sections
from analyzer.cli.options import PathsCommand, Seconds, json_option, log_option, quiet_option, rules_option
from analyzer.cli.output import Out, add_to_job_summary, append, complain, echo, narrate, text_layout, write
from analyzer.cli.signals import ending_on
from analyzer.errors import NOT_STARTED, AnalyzerError

if TYPE_CHECKING:
    from analyzer.analysis.verdict.answer import RunVerdict
    from analyzer.classifier import Ruleset
    from analyzer.events import EventLog
    from analyzer.recovery import Relay, RelaySettings


@click.command("run", context_settings={"ignore_unknown_options": False, "allow_interspersed_args": False})
@click.argument("words", nargs=-1, required=True, metavar="-- COMMAND...", type=click.UNPROCESSED)
@log_option
@click.option("--agent", metavar="NAME", help="Agent name in log and pool. Default: the command.")
@click.option("--pool", "pool_path", metavar="FILE", help="File of agents at their usage limit, for all runs.")
@click.option("--limits", metavar="DIR", help="Folder of rate limits, for all runs.")
@click.option("--provider", metavar="NAME", help="Provider for rate limits. Default: the agent.")
@click.option(
    "--retries", type=click.IntRange(0), default=0, metavar="N", help="Retries after the first try. Default 0."
)
@click.option("--timeout", type=Seconds(0, min_open=True), metavar="S", help="Seconds for each try.")
@click.option("--grace", type=Seconds(0), default=3.0, metavar="S", help="Seconds from SIGTERM to SIGKILL. Default 3.")
@click.option(
    "--max-wait",
    type=Seconds(0),
    default=60.0,
    metavar="S",
    help="Longest wait for a limit, in seconds. Default 60.",
)
@click.option(
    "--relay",
    "percent",
    metavar="PERCENT",
    help="Hand off when the context is this full: 70, or token_limit_70%.",
)
@click.option("--summarizer", metavar="CMD", help="Command that turns a session on stdin into a checkpoint.")
@click.option(
    "--summarizer-limits",
    type=click.Choice(("preset", "none")),
    help="preset (default): a known agent may only read; none: as written.",
)
@click.option("--step", "step_id", metavar="ID", help="Step, for [relay.steps.ID] and the log.")
@click.option("--worker", "worker_id", metavar="ID", help="Worker of a matrix step.")
@quiet_option
def run_command(
    words: tuple[str, ...],
    folder: str,
    agent: str | None,
    pool_path: str | None,
    limits: str | None,
    provider: str | None,
    retries: int,
    timeout: float | None,
    grace: float,
    max_wait: float,
    percent: str | None,
    summarizer: str | None,
    summarizer_limits: str | None,
    step_id: str | None,
    worker_id: str | None,
    quiet: bool,
) -> int:
    """Run an agent with a timeout, retries and limits, and log what fails.

    \b
      analyzer run --timeout 1800 --retries 2 -- ./agent.sh
      analyzer run --pool pool.json -- claude -p "Fix the tests"
      analyzer run --relay 70 --step implement --summarizer "claude -p" -- \\
        claude -p "Fix the tests" --output-format stream-json --verbose

    Output and exit code are the command's own. --retries starts it again if that can help. An agent at its usage
    limit leaves the pool until the limit resets. --relay stops it at a safe point and starts it again with a
    checkpoint, on stdin and in the file $ANALYZER_CHECKPOINT.
    """
    # A command should start at once: modules that most runs do without are loaded on need.
    from analyzer import events, recovery
    from analyzer.recovery.process.group import ENDING, adopt_orphans

    agent = agent or os.path.basename(words[0])
    say = _silent if quiet else complain
    relay_options = {"threshold_percent": percent, "summarizer": summarizer, "summarizer_limits": summarizer_limits}
    settings = _relay_settings({key: value for key, value in relay_options.items() if value is not None}, step_id, say)
    log = events.EventLog(folder) if settings or pool_path else None
    rules_path = rules_in_use(None)
    adopt_orphans()
    # Python itself handles Ctrl-C.
    with ending_on(number for number in ENDING if number != signal.SIGINT):
        done = recovery.supervise(
            words,
            agent=agent,
            limits=recovery.Limits(retries, timeout, grace, max_wait),
            log=log or folder,
            pool=recovery.AgentPool(pool_path, log=log) if pool_path else None,
            guard=recovery.RateGuard(limits) if limits else None,
            provider=provider,
            make_relay=_relay_maker(settings, folder, step_id, worker_id, log, agent, say) if settings else None,
            # The built-in rules are loaded when something fails.
            rules=None if rules_path is None else ruleset_in_use(rules_path),
            say=say,
        )
    if done.error is not None:
        complain(done.error.message, done.error.hint)
    return done.exit_code


def _relay_settings(options: dict[str, str], step_id: str | None, say: Callable[[str], None]) -> RelaySettings | None:
    """Return the settings of the options and analyzer.toml for the step.

    Return None if there is no relay.
    """
    tables = sections(("relay", "runtime", "steps", "personas"))
    if "threshold_percent" not in options and not tables:
        _refuse_unused(options)
        return None
    from analyzer.recovery.relay.config import manifest, relay_config

    file = manifest(tables)
    is_configured = file is not None and (file.everywhere or step_id in file.config.steps)
    if "threshold_percent" not in options and not is_configured:
        _refuse_unused(options)
        return None
    for note in file.notes if file else ():
        say(f"note: analyzer.toml: {note}")
    settings = relay_config(options, file.config.of_step(step_id) if file else None).settings
    prompt = settings.summarizer_prompt_file
    return settings if prompt is None else replace(settings, summarizer_prompt_file=path_in_config(prompt))


def _refuse_unused(options: dict[str, str]) -> None:
    """Raise AnalyzerError for options of a relay if there is none."""
    if options:
        names = " and ".join(f"--{name.replace('_', '-')}" for name in options)
        raise AnalyzerError(f"{names} without a relay: nothing is handed off", "add --relay 70, or leave it out")


def _relay_maker(
    settings: RelaySettings,
    folder: str,
    step_id: str | None,
    worker_id: str | None,
    log: EventLog | None,
    caller: str,
    say: Callable[[str], None],
) -> Callable[[Callable[[], str | None]], Relay]:
    """Return a function that makes the relay of a session."""
    from analyzer.recovery.relay.monitor import Relay, RelayMonitor, summarizer_of

    summarizer = summarizer_of(settings)
    note = getattr(summarizer, "note", None)
    if note is not None:
        say(f"note: {note}")
    monitor = RelayMonitor(settings, step_id=step_id, worker_id=worker_id)
    # Beside the log, not in it: a log folder holds only events.
    checkpoints = f"{folder.rstrip(os.sep)}.checkpoints"
    return lambda session: Relay(monitor, checkpoints, summarizer=summarizer, log=log, caller=caller, session=session)


def _silent(_: str) -> None:
    """Say nothing."""


@click.command("verdict", cls=PathsCommand)
@click.argument("words", nargs=-1, metavar="[PATH]... | --run -- COMMAND...", type=click.UNPROCESSED)
@click.option("--exit-code", type=int, metavar="N", help="Exit code of the run.")
@click.option("--agent", metavar="NAME", help="Who printed plain text: claude, codex, gemini.")
@click.option("--run", "runs", is_flag=True, help="Run COMMAND, pass its output on, and judge it.")
@rules_option
@click.option("--junit", metavar="FILE", help="Also write JUnit XML.")
@json_option
@click.option("--output", "-o", metavar="FILE", help="Write to this file (default stdout; with --run, stderr).")
@quiet_option
def verdict_command(
    words: tuple[str, ...],
    exit_code: int | None,
    agent: str | None,
    runs: bool,
    rules_path: str | None,
    junit: str | None,
    out: Out,
    output: str | None,
    quiet: bool,
) -> int:
    """Judge one agent run: passed, failed, retry, wait, blocked or hollow.

    \b
      claude -p "Fix it" --output-format stream-json --verbose > run.ndjson
      analyzer verdict run.ndjson --exit-code $?
      analyzer verdict --run -- codex exec --json "Fix it"
      aider --message "Fix it" | analyzer verdict --agent aider
      analyzer verdict run.ndjson stderr.txt --json --junit verdict.xml

    `failed`: the work failed. `retry` and `wait`: try again, after a pause or when a limit resets. `blocked`: a
    person is needed. `hollow`: it claims success and did nothing. Exit codes in this order: 0, 10, 11, 12, 13,
    14. PATHs are the run's output and its stderr; without PATHs it reads stdin. In GitHub Actions the answer is
    added to the summary and the outputs of the step.
    """
    from analyzer.analysis.verdict.answer import EXIT_CODES, run_verdict
    from analyzer.report.escape import json_text
    from analyzer.report.run_verdict import render_junit, verdict_document, workflow_annotation, workflow_outputs
    from analyzer.report.writers.text import to_text

    rules = ruleset_in_use(rules_path)
    if runs:
        if not words or exit_code is not None:
            raise AnalyzerError("--run takes a command, and its exit code", "analyzer verdict --run -- COMMAND...")
        answer = _judge_command(words, agent, rules, quiet)
    else:
        if not words and sys.stdin.isatty():
            raise AnalyzerError("nothing to judge", "give a PATH, a run's output on stdin, or --run -- COMMAND...")
        answer = run_verdict(words or ("-",), exit_code=exit_code, agent=agent, rules=rules)
    width, _ = text_layout(output)
    text = json_text(answer.to_dict()) if out.form == "json" else to_text(verdict_document(answer), width)
    if not runs or output is not None:
        write(text, output)
    elif not quiet:
        echo(text.rstrip("\n"), err=True)  # stdout is the command's
    if junit:
        write(render_junit(answer), junit)
    _tell_job(answer, workflow_outputs(answer), workflow_annotation(answer))
    return EXIT_CODES[answer.verdict]


def _judge_command(words: tuple[str, ...], agent: str | None, rules: Ruleset, quiet: bool) -> RunVerdict:
    """Run a command as `analyzer run` does, and judge what it printed."""
    from analyzer import recovery
    from analyzer.analysis.verdict.answer import judge
    from analyzer.analysis.verdict.output import read_output
    from analyzer.events.times import now
    from analyzer.recovery.process.group import ENDING, adopt_orphans

    agent = agent or os.path.basename(words[0])
    adopt_orphans()
    with tempfile.TemporaryDirectory(prefix="analyzer-") as folder:
        names = {1: "stdout", 2: "stderr"}
        paths = {number: os.path.join(folder, name) for number, name in names.items()}
        with open(paths[1], "wb") as out, open(paths[2], "wb") as err:
            kept = {1: out, 2: err}

            def keep(stream: int, data: bytes) -> None:
                kept[stream].write(data)

            with ending_on(number for number in ENDING if number != signal.SIGINT):
                streams = recovery.Streams(watch=keep)
                say = _silent if quiet else complain
                done = recovery.supervise(words, agent=agent, streams=streams, rules=rules, say=say)
            if done.exit_code == NOT_STARTED and done.error is not None:
                err.write(done.error.message.encode("utf-8", "replace"))
        outputs = [read_output(paths[number], rules, names[number]) for number in names]
    return judge(outputs, exit_code=done.exit_code, agent=agent, rules=rules, at=now())


def _tell_job(answer: RunVerdict, outputs: str, annotation: str) -> None:
    """Tell a job of GitHub Actions, if this is one; tell on stderr what cannot be written there."""
    from analyzer.report.run_verdict import verdict_summary
    from analyzer.report.writers.markdown import to_markdown

    add_to_job_summary(lambda: to_markdown(verdict_summary(answer)))
    if path := os.environ.get("GITHUB_OUTPUT"):
        try:
            append(outputs, path)
        except AnalyzerError as error:
            narrate(f"the outputs of the step are not written: {error.message}")
    if annotation and os.environ.get("GITHUB_ACTIONS") == "true":
        click.echo(annotation.rstrip("\n"), err=True)  # a command for the runner, and meant to be one
