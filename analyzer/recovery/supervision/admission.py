"""Whether a command may be started at all: its agent may be out of the pool, its provider may be known to refuse.

Invariant: a wait is as long as allowed, or there is none.
"""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING

from analyzer.errors import BUSY, AnalyzerError
from analyzer.recovery.supervision.chain import BACKOFF

if TYPE_CHECKING:
    from analyzer.recovery.supervision.plan import Plan


class NotAdmittedError(AnalyzerError):
    """The command was not started: a limit holds that is known already."""

    exit_code = BUSY

    def __init__(self, message: str, provider: str, reset_at: datetime | None) -> None:
        super().__init__(message, "come back then, let it wait with --max-wait, or use another agent")
        self.provider = provider
        self.reset_at = reset_at
        """Aware, UTC."""


def admit(plan: Plan) -> None:
    """Waits until the agent may be asked.

    Raises:
        NotAdmittedError: that takes longer than the limits allow.
        StateError: the pool's file cannot be used.
        WaitCancelledError: the cancel flag was set.
    """
    limits = plan.limits
    if plan.pool is not None:
        out = plan.pool.wait_for(plan.agent, limits.max_wait_seconds, plan.cancel)
        if out is not None:
            until = f"{out.back_at:%Y-%m-%d %H:%M:%S} UTC"
            raise NotAdmittedError(
                f"{plan.agent} is out of the pool until {until}: {out.reason_text}", plan.agent, out.back_at
            )
    if plan.guard is None:
        return
    from analyzer.recovery.limits.guard import RateLimitedError
    from analyzer.recovery.limits.state_file import StateError

    try:
        waited = plan.guard.block_until_ready(
            plan.provider, max_wait_seconds=limits.max_wait_seconds, cancel=plan.cancel
        )
    except RateLimitedError as refused:
        raise NotAdmittedError(refused.message, plan.provider, refused.reset_at) from None
    except StateError:
        return  # a guard that cannot be read guards nothing; the provider will say it itself
    if waited > 0:
        # The jitter keeps those apart who waited for the same limit.
        plan.clock.sleep(BACKOFF.delay_seconds(0), plan.cancel)
