"""`analyzer run`: an agent's command under supervision."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import TYPE_CHECKING

import click

from analyzer.cli.options import DEFAULT_LOG, quiet_option

if TYPE_CHECKING:
    from analyzer.classifier import Ruleset
    from analyzer.events import EventLog
    from analyzer.recovery.guard import RateGuard
    from analyzer.recovery.pool import AgentPool
    from analyzer.recovery.relay import Relay
    from analyzer.recovery.relay_config import RelaySettings


@click.command("run", context_settings={"ignore_unknown_options": False, "allow_interspersed_args": False})
@click.argument("words", nargs=-1, required=True, metavar="-- COMMAND...", type=click.UNPROCESSED)
@click.option("--log", "folder", default=DEFAULT_LOG, metavar="DIR", help=f"The log folder. Default {DEFAULT_LOG}/.")
@click.option("--agent", metavar="NAME", help="Who runs, in the log and in the pool. Default: the command's name.")
@click.option("--pool", "pool_path", metavar="FILE", help="Agents at their usage limit, shared by all runs.")
@click.option("--limits", metavar="DIR", help="Rate limits by provider, shared by all runs and `RateGuard`s.")
@click.option("--provider", metavar="NAME", help="Whose rate limits hold. Default: the agent's name.")
@click.option("--retries", type=click.IntRange(0), default=0, metavar="N", help="Tries after the first. Default 0.")
@click.option(
    "--timeout", type=click.FloatRange(0, min_open=True), metavar="S", help="Seconds that each start may take."
)
@click.option(
    "--grace", type=click.FloatRange(0), default=3.0, metavar="S", help="Seconds from SIGTERM to SIGKILL. Default 3."
)
@click.option(
    "--max-wait",
    type=click.FloatRange(0),
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
    from analyzer.cli import complain
    from analyzer.cli.settings import rules_in_use
    from analyzer.recovery.supervise_plan import Limits
    from analyzer.recovery.supervisor import supervise

    agent = agent or os.path.basename(words[0])
    settings = _relay_settings(percent, summarizer, step_id)
    log = _log(folder) if settings or pool_path else folder
    with _ending_on(signal.SIGTERM, signal.SIGHUP):
        done = supervise(
            words,
            agent=agent,
            limits=Limits(retries, timeout, grace, max_wait),
            log=log,
            pool=_pool(pool_path, log) if pool_path else None,
            guard=_guard(limits) if limits else None,
            provider=provider,
            make_relay=_relay(settings, folder, step_id, worker_id, log, agent) if settings else None,
            ruleset=_ruleset(rules_in_use(None)),
            say=lambda sentence: None if quiet else complain(sentence),
        )
    if done.error is not None:
        complain(done.error.message, done.error.hint)
    return done.exit_code


# What most runs do without is loaded by those that need it: a command should start at once.


def _log(folder: str) -> EventLog:
    from analyzer.events import EventLog

    return EventLog(folder)


def _pool(path: str, log: EventLog | str) -> AgentPool:
    from analyzer.recovery.pool import AgentPool

    assert not isinstance(log, str)
    return AgentPool(path, log=log)


def _guard(folder: str) -> RateGuard:
    from analyzer.recovery.guard import RateGuard

    return RateGuard(folder)


def _ruleset(rules_path: str | None) -> Ruleset | None:
    """The rules in use, where they are not the built-in ones: those are loaded when something fails."""
    if rules_path is None:
        return None
    from analyzer.classifier.rules import ruleset_for

    return ruleset_for(rules_path)


def _relay_settings(percent: str | None, summarizer: str | None, step_id: str | None) -> RelaySettings | None:
    """What options and analyzer.toml say of the step; None where there is to be no relay."""
    from analyzer.cli.settings import section

    configured = section("relay")
    if percent is None and configured is None:
        return None
    from analyzer.recovery.relay_config import relay_config

    given = {"threshold_percent": percent, "summarizer": summarizer}
    options = {key: value for key, value in given.items() if value is not None}
    return relay_config(options, relay_config(configured or {}).of_step(step_id)).settings


def _relay(
    settings: RelaySettings,
    folder: str,
    step_id: str | None,
    worker_id: str | None,
    log: EventLog | str,
    caller: str,
) -> Callable[[Callable[[], str | None]], Relay]:
    from analyzer.recovery.relay import Relay, RelayMonitor

    assert not isinstance(log, str)
    monitor = RelayMonitor(settings, step_id=step_id, worker_id=worker_id)
    # Beside the log, not in it: a log folder holds nothing but events.
    checkpoints = f"{folder.rstrip(os.sep)}.checkpoints"
    return lambda session: Relay(monitor, checkpoints, log=log, caller=caller, session=session)


@contextmanager
def _ending_on(*signals: signal.Signals) -> Iterator[None]:
    """These signals end the command's group, then us, with the exit code that a shell would show."""

    def end(number: int, _: FrameType | None) -> None:
        raise click.exceptions.Exit(128 + number)

    # A parent that ignores its children hands that down, and nobody would learn how the command ended.
    before = {signal.SIGCHLD: signal.signal(signal.SIGCHLD, signal.SIG_DFL)}
    for each in signals:
        if signal.getsignal(each) is not signal.SIG_IGN:
            before[each] = signal.signal(each, end)
    try:
        yield
    finally:
        for each, handler in before.items():
            signal.signal(each, handler)
