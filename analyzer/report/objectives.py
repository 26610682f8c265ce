"""Documents and sentences about objectives and budgets."""

from __future__ import annotations

from collections.abc import Sequence

from analyzer.analysis.budget import BudgetState
from analyzer.analysis.objectives import ObjectiveState
from analyzer.readable import counted, dollars, percent
from analyzer.report.document import Document, Items, Paragraph, TableBlock, quote


def objective_sentences(states: Sequence[ObjectiveState]) -> list[str]:
    """Say of each objective how it stands; what is missed or burns fast says so first."""
    return [_sentence(state) for state in states]


def _sentence(state: ObjectiveState) -> str:
    objective, days = state.objective, counted(state.objective.days, "day")
    if state.value is None:
        return f"Objective, {quote(state.title, 80)}: no session ended in {days}."
    word = "Missed: " if state.is_missed else "Burning fast: " if state.burns_fast else ""
    aim = f"at {'least' if objective.measure == 'sessions_done' else 'most'} {_value(state, objective.target)}"
    burns = ", ".join(f"{rate:.1f} over {hours} h" for hours, rate in state.burn_rates.items())
    return (
        f"{word}{quote(state.title, 80)}: {_value(state, state.value)} ({aim} in {days}); "
        f"{percent(state.budget_left)} of the budget left" + (f", burn rate {burns}." if burns else ".")
    )


def _value(state: ObjectiveState, value: float) -> str:
    return percent(value) if state.objective.measure == "sessions_done" else f"{value:,.1f}"


def objectives_document(states: Sequence[ObjectiveState]) -> Document:
    """Return the objectives as a table, with how much budget is left and how fast it burns."""
    if not states:
        return [Paragraph("No objective is set. Write [objective] with sessions_done = 0.95 into analyzer.toml.")]
    rows = [
        (
            "MISSED" if state.is_missed else "FAST" if state.burns_fast else "ok",
            quote(state.title, 60),
            _value(state, state.objective.target),
            "–" if state.value is None else _value(state, state.value),
            counted(state.sessions, "session"),
            percent(state.budget_left),
            *("–" if rate is None else f"{rate:.1f}" for rate in (state.burn_1h, state.burn_6h)),
        )
        for state in states
    ]
    names = ("", "objective", "target", "now", "of", "budget left", "burn 1 h", "burn 6 h")
    return [TableBlock(names, rows)]


_STATES = {"passed": "PASSED", "near": "NEAR", "within": "WITHIN"}


def budget_sentence(state: BudgetState) -> str:
    """Say how much of a day's budget is spent."""
    of = f"{dollars(state.spent_usd)} of {dollars(state.daily_usd)} spent today"
    return f"{of} ({percent(state.spent_usd / state.daily_usd)})."


def budget_document(state: BudgetState, only: str = "") -> Document:
    """Return how much of a day's budget is spent, and when it will be passed; `only` names what is selected."""
    if not state.has_usage:
        of = f" of {only}" if only else ""
        return [Items(["See analyzer sources for the logs of this machine."], f"No log has a request{of}.", "NO USAGE")]
    texts = []
    if state.passes_at:
        pace = f"{dollars(state.last_hour_usd)} in the last hour"
        texts.append(f"At this pace ({pace}) it is passed at {state.passes_at:%H:%M} UTC.")
    if state.unpriced:
        texts.append(f"{counted(state.unpriced, 'request')} of {state.requests:,} have no price: it may be more.")
    texts.append(f"Latest request: {state.last_at:%Y-%m-%d %H:%M} UTC." if state.last_at else "No request today.")
    return [Items(texts, budget_sentence(state), _STATES[state.state])]
