"""`analyzer run` starts an agent's command, supervises it, and starts it again where that helps."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING

import click

from analyzer.cli.options import DEFAULT_LOG, Seconds, quiet_option
from analyzer.cli.signals import ending_on
from analyzer.errors import AnalyzerError

if TYPE_CHECKING:
    from analyzer.classifier import Ruleset
    from analyzer.events import EventLog
    from analyzer.recovery.limits.guard import RateGuard
    from analyzer.recovery.limits.pool import AgentPool
    from analyzer.recovery.relay.config import RelaySettings
    from analyzer.recovery.relay.monitor import Relay


@click.command("run", context_settings={"ignore_unknown_options": False, "allow_interspersed_args": False})
@click.argument("words", nargs=-1, required=True, metavar="-- COMMAND...", type=click.UNPROCESSED)
@click.option("--log", "folder", default=DEFAULT_LOG, metavar="DIR", help=f"The log folder. Default {DEFAULT_LOG}/.")
@click.option("--agent", metavar="NAME", help="Who runs, in the log and in the pool. Default: the command's name.")
@click.option("--pool", "pool_path", metavar="FILE", help="Agents at their usage limit, shared by all runs.")
@click.option("--limits", metavar="DIR", help="Limits by provider, shared by all runs and `RateGuard`s.")
@click.option("--provider", metavar="NAME", help="Whose rate limits hold. Default: the agent's name.")
@click.option("--retries", type=click.IntRange(0), default=0, metavar="N", help="Tries after the first. Default 0.")
@click.option("--timeout", type=Seconds(0, min_open=True), metavar="S", help="Seconds that each start may take.")
@click.option("--grace", type=Seconds(0), default=3.0, metavar="S", help="Seconds from SIGTERM to SIGKILL. Default 3.")
@click.option(
    "--max-wait",
    type=Seconds(0),
    default=60.0,
    metavar="S",
    help="The longest wait for a limit to reset. Default 60.",
)
@click.option(
    "--relay",
    "percent",
    metavar="PERCENT",
    help="Hand off to a fresh instance once the context is so full: 70, or token_limit_70%.",
)
@click.option("--summarizer", metavar="CMD", help="Makes the checkpoint from the session on its stdin.")
@click.option(
    "--summarizer-limits",
    type=click.Choice(("preset", "none")),
    help="Hold a known agent to reading (preset, the default), or run the summarizer as it is written.",
)
@click.option("--step", "step_id", metavar="ID", help="The step at work, for [relay.steps.ID] and the log.")
@click.option("--worker", "worker_id", metavar="ID", help="The worker of a matrix step.")
@quiet_option
def command(
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
    """Run an agent's command under supervision: its bytes pass through, its exit code is ours, events go to a log.

    A failure is classified from the stream-json result, the exit code, stdout and stderr. --retries starts the command
    again where that helps. At its usage limit, an agent leaves the pool until the limit resets. --relay ends it at a
    safe point and starts it again with a checkpoint on stdin and in the file $ANALYZER_CHECKPOINT.

    \b
      analyzer run --timeout 1800 --retries 2 -- ./agent.sh
      analyzer run --pool pool.json -- claude -p "Fix the tests"
      analyzer run --relay 70 --step implement --summarizer "claude -p" -- \\
        claude -p "Fix the tests" --output-format stream-json --verbose
    """
    from analyzer.cli.output import complain
    from analyzer.cli.settings import rules_in_use
    from analyzer.recovery.process.group import ENDING, adopt_orphans
    from analyzer.recovery.supervision.instance import Limits
    from analyzer.recovery.supervision.supervisor import supervise

    agent = agent or os.path.basename(words[0])
    say = _say(quiet)
    given = {"threshold_percent": percent, "summarizer": summarizer, "summarizer_limits": summarizer_limits}
    settings = _relay_settings({key: value for key, value in given.items() if value is not None}, step_id, say)
    log = _log(folder) if settings or pool_path else folder
    adopt_orphans()
    # Ctrl-C is Python's own.
    with ending_on(each for each in ENDING if each != signal.SIGINT):
        done = supervise(
            words,
            agent=agent,
            limits=Limits(retries, timeout, grace, max_wait),
            log=log,
            pool=_pool(pool_path, log) if pool_path else None,
            guard=_guard(limits) if limits else None,
            provider=provider,
            make_relay=_relay(settings, folder, step_id, worker_id, log, agent, say) if settings else None,
            rules=_ruleset(rules_in_use(None)),
            say=say,
        )
    if done.error is not None:
        complain(done.error.message, done.error.hint)
    return done.exit_code


# What most runs do without is loaded by those that need it: a command should start at once.


def _log(folder: str) -> EventLog:
    from analyzer.events import EventLog

    return EventLog(folder)


def _pool(path: str, log: EventLog | str) -> AgentPool:
    from analyzer.recovery.limits.pool import AgentPool

    assert not isinstance(log, str)
    return AgentPool(path, log=log)


def _guard(folder: str) -> RateGuard:
    from analyzer.recovery.limits.guard import RateGuard

    return RateGuard(folder)


def _ruleset(rules_path: str | None) -> Ruleset | None:
    """The rules in use, where they are not the built-in ones: those are loaded when something fails."""
    if rules_path is None:
        return None
    from analyzer.classifier.rules.loading import ruleset_for

    return ruleset_for(rules_path)


def _say(quiet: bool) -> Callable[[str], None]:
    def say(sentence: str) -> None:
        from analyzer.cli.output import complain

        if not quiet:
            complain(sentence)

    return say


def _relay_settings(options: dict[str, str], step_id: str | None, say: Callable[[str], None]) -> RelaySettings | None:
    """What options and analyzer.toml say of the step; None where there is to be no relay."""
    from analyzer.cli.settings import beside, sections

    tables = sections(("relay", "runtime", "steps", "personas"))
    if "threshold_percent" not in options and not tables:
        _check_unused(options)
        return None
    from analyzer.recovery.relay.config import manifest, relay_config

    found = manifest(tables)
    configured = found is not None and (found.everywhere or step_id in found.config.steps)
    if "threshold_percent" not in options and not configured:
        _check_unused(options)
        return None
    for note in found.notes if found else ():
        say(f"note: analyzer.toml: {note}")
    settings = relay_config(options, found.config.of_step(step_id) if found else None).settings
    prompt = settings.summarizer_prompt_file
    return settings if prompt is None else replace(settings, summarizer_prompt_file=beside(prompt))


def _check_unused(options: dict[str, str]) -> None:
    """Raises AnalyzerError for options of a hand-off where there is none."""
    if options:
        names = " and ".join(f"--{name.replace('_', '-')}" for name in options)
        raise AnalyzerError(f"{names} without a relay: nothing is handed off", "add --relay 70, or leave it out")


def _relay(
    settings: RelaySettings,
    folder: str,
    step_id: str | None,
    worker_id: str | None,
    log: EventLog | str,
    caller: str,
    say: Callable[[str], None],
) -> Callable[[Callable[[], str | None]], Relay]:
    from analyzer.recovery.relay.monitor import Relay, RelayMonitor, summarizer_of

    assert not isinstance(log, str)
    summarizer = summarizer_of(settings)
    note = getattr(summarizer, "note", None)
    if note is not None:
        say(f"note: {note}")
    monitor = RelayMonitor(settings, step_id=step_id, worker_id=worker_id)
    # Beside the log, not in it: a log folder holds nothing but events.
    checkpoints = f"{folder.rstrip(os.sep)}.checkpoints"
    return lambda session: Relay(monitor, checkpoints, summarizer=summarizer, log=log, caller=caller, session=session)
