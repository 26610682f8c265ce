"""Documents about changes: between two groups of sessions, noted by people, and of history under other rules, another
retry policy or another model."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from analyzer.analysis.changes import ChangeOutcome, Expectation
from analyzer.analysis.comparison import CHANCE, LEAST_SESSIONS, ComparedFigure, Comparison, OneSidedMessage
from analyzer.analysis.kinds.finding import kind_of
from analyzer.analysis.rules.drafts import Recoveries
from analyzer.analysis.rules.ruleset_changes import AlarmChanges, Churn, Rejudged
from analyzer.analysis.whatif import ModelWhatIf, RetryWhatIf
from analyzer.command_lines import HERE, Asking
from analyzer.readable import counted, dollars, duration, percent
from analyzer.report.document import (
    Block,
    Command,
    Document,
    Heading,
    Items,
    OneLine,
    Paragraph,
    TableBlock,
    quote,
    shortened,
)
from analyzer.report.rows import brief, count
from analyzer.store import Reclassification

MAX_SHOWN = 10
"""The number of templates or messages that a list shows."""
MAX_GROUPS = 30
"""The number of reasons and callers, or of callers, that a replay shows."""
_NO_CHAINS = "No chain of retries ended in this window: nothing to replay."
MAX_CELLS = 12
"""The number of changes from one reason to another that are shown."""
_WORDS = {"worse": "WORSE", "better": "BETTER", "other": "CHANGED", "noise": "noise", "too_few": "too few"}


def churn_document(churn: Churn) -> Document:
    """Return what another ruleset changes: counts, shares, a test, and lists of templates."""
    lists = (
        ("Recovered: unknown before, known after", "recovered", churn.recovered),
        ("REGRESSED: known before, unknown after", "regressed", churn.regressed),
        ("Moved: from one reason to another", "moved", churn.moved),
    )
    counts = ", ".join(f"{counted(len(changes), 'template')} {word}" for _, word, changes in lists)
    rates = (("errors", churn.events), ("groups", churn.groups), ("sessions", churn.sessions))
    rows = [(name, count(rate.changed), count(rate.total), percent(rate.share)) for name, rate in rates]
    freed, spoiled = counted(churn.sessions_freed, "session"), counted(churn.sessions_spoiled, "session")
    test = f"Their last unknown error is gone from {freed}, a first one came to {spoiled}"
    return [
        Paragraph(f"{counts} under ruleset {churn.ruleset}."),
        TableBlock(("", "changed", "of", "share"), rows),
        Paragraph(f"{test} (exact McNemar test: p = {churn.p_value:.2g})."),
        *(block for title, _, changes in lists for block in _changes(title, changes)),
    ]


def _changes(title: str, changes: tuple[Rejudged, ...]) -> Document:
    if not changes:
        return []
    rows, notes = [], []
    for change in changes[:MAX_SHOWN]:
        verdict = f"{change.before} → {change.after}, by rule {change.rule}"
        rows.append((counted(change.events, "error"), counted(change.sessions, "session"), verdict))
        notes.append([quote(change.template), *(OneLine(f"e.g. {quote(text)}") for text in change.samples)])
    more = _more(len(changes) - MAX_SHOWN)
    return [Heading(title, 2), TableBlock((), rows, notes, more)]


def _more(hidden: int) -> str:
    return f"{count(hidden)} more: --json lists them" if hidden > 0 else ""


def alarms_document(changes: AlarmChanges) -> Document:
    """Return the alarms of past nights that vanish, appear or stay."""
    sides = (("vanished", changes.vanished), ("appeared", changes.appeared), ("stayed", changes.stayed))
    if not any(alarms for _, alarms in sides):
        return [Paragraph("No alarms in this history, neither before nor after.")]
    counts = ", ".join(f"{count(len(alarms))} {word}" for word, alarms in sides)
    rows = [
        (word, str(alarm.opened_on), alarm.severity, kind_of(alarm.finding).title, quote(alarm.caller or "the fleet"))
        for word, alarms in sides
        for alarm in alarms[:MAX_SHOWN]
    ]
    more = _more(sum(max(0, len(alarms) - MAX_SHOWN) for _, alarms in sides))
    return [Paragraph(f"Alarms of past nights: {counts}."), TableBlock((), rows, more=more)]


def helped_document(groups: Sequence[tuple[str, Recoveries]]) -> Document:
    """Return the unknown groups that recover on a retry."""
    texts = [f"{quote(template)}: {outcome.sentence}" for template, outcome in groups]
    name = "Unknown still, and recovered on a retry: perhaps network_transient"
    return [Items(shortened(texts, MAX_SHOWN), name)] if texts else []


def reclassification_document(result: Reclassification, asking: Asking = HERE) -> Document:
    """Return a reclassification: the verdict, the changed reasons, what recovery would do."""
    share = f" ({percent(result.changed / result.examined)})" if result.examined else ""
    head = [
        f"{result.changed:,} of {result.examined:,} errors change their reason{share} under ruleset {result.ruleset}.",
        "Applied: reports and queries show the new reasons." if result.applied else "A dry run; --apply makes it so.",
    ]
    if result.active not in {None, result.ruleset}:
        tense = "was" if result.applied else "is"
        head.append(
            f"Another ruleset {tense} active, {result.active}: reports showed its verdicts, not the recorded ones."
        )
    if result.unknown_before is not None and result.unknown_after is not None:
        recorded, judged = percent(result.unknown_before), percent(result.unknown_after)
        head.append(f"Unknown share: {recorded} recorded, {judged} by this ruleset.")
    if result.without_facts:
        head.append(f"Without facts, and so with the reason that they came with: {result.without_facts:,}.")
    blocks: list[Block] = [Items(head)]
    moved = [cell for cell in result.matrix if cell.before != cell.after]
    if moved:
        rows = [(count(cell.count), cell.before, f"→ {cell.after}") for cell in moved[:MAX_CELLS]]
        notes = [[OneLine(quote(sample)) for sample in cell.samples] for cell in moved[:MAX_CELLS]]
        blocks.append(TableBlock(("errors", "recorded", "by this ruleset"), rows, notes))
    if (hidden := len(moved) - MAX_CELLS) > 0:
        all_of_them = asking.command("query", "ruleset-matrix") if result.applied else ""
        blocks.append(Command(all_of_them, f"{hidden} more" if all_of_them else f"{hidden} more: --json has them"))
    if result.actions:
        actions = [(count(cell.count), f"{cell.before} → {cell.after}") for cell in result.actions]
        blocks += [Heading("What recovery would do differently:", 2), TableBlock((), actions)]
    same = sum(cell.count for cell in result.matrix if cell.before == cell.after)
    return [*blocks, Paragraph(f"{same:,} keep their reason.")]


def comparison_document(comparison: Comparison, asking: Asking = HERE) -> Document:
    """Return the verdict, the table of figures, and the messages that came and went.

    If one of the compared values has no session, a command lists the values that have some.
    """
    sides = [f"{counted(side.sessions, 'session')} of {side.name}" for side in (comparison.before, comparison.after)]
    blocks: list[Block] = [Heading(comparison_verdict(comparison))]
    blocks.append(Paragraph(f"Before: {sides[0]}. After: {sides[1]}."))
    if comparison.dimension and not (comparison.before.sessions and comparison.after.sessions):
        values = f"select {comparison.dimension}, count(*) as sessions from sessions"  # noqa: S608  one of DIMENSIONS
        values += " group by all order by sessions desc"
        blocks.append(Command(asking.command("sql", values), "which values there are"))
    if comparison.figures:
        rows = [_row(figure) for figure in comparison.figures]
        names = ("", "", "before", "after", "change", "95% interval")
        blocks += [
            TableBlock(names, rows),
            Paragraph(
                f"A change is called worse or better if it is significant at {percent(CHANCE)}, corrected for multiple "
                "comparisons."
            ),
        ]
    for title, messages in (("New after", comparison.came), ("Gone after", comparison.went)):
        if messages:
            texts = shortened([*map(_message, messages)], MAX_SHOWN)
            blocks.append(Items(texts, f"{title} ({len(messages)}):"))
    return blocks


def comparison_verdict(comparison: Comparison) -> str:
    """Say in one sentence what clearly changed."""
    empty = [side for side in (comparison.before, comparison.after) if not side.sessions]
    if empty:
        return f"No session of {' and none of '.join(side.name for side in empty)}: nothing to compare."
    if not comparison.enough:
        return (
            f"Too few sessions to judge: {comparison.before.sessions} before and {comparison.after.sessions} after, "
            f"at least {LEAST_SESSIONS} of each are needed."
        )
    if not comparison.clear:
        return "No clear change: every difference may be noise."
    sentences = "; ".join(
        f"{figure.title} {_cell(figure.before, figure.unit)} before, {_cell(figure.after, figure.unit)} after"
        for figure in comparison.clear
    )
    worse, better = (sum(figure.verdict == word for figure in comparison.clear) for word in ("worse", "better"))
    counts = [f"{number} {word}" for number, word in ((worse, "worse"), (better, "better")) if number]
    head = ", ".join(counts) or "Changed"
    return f"{head}: {sentences}."


def _row(figure: ComparedFigure) -> tuple[str, ...]:
    low, high = (_change(end, figure.unit) for end in (figure.low, figure.high))
    return (
        _WORDS[figure.verdict],
        # In the table these rows are below the sessions with any error.
        figure.title.replace("sessions with ", "… with ") if figure.figure != "failed_sessions" else figure.title,
        _cell(figure.before, figure.unit),
        _cell(figure.after, figure.unit),
        _change(figure.change, figure.unit),
        f"{low} to {high}" if figure.low is not None else "–",
    )


def _cell(value: float | None, unit: str) -> str:
    if value is None or unit == "share":
        return percent(value)
    if unit == "usd":
        return _usd(value)
    if unit == "seconds":
        return f"{value:,.1f} s"
    return f"{value:,.2f}" if value < 1000 else brief(round(value))


def _change(value: float | None, unit: str) -> str:
    """Write a change with its sign; that of a share is in percentage points."""
    if value is None:
        return "–"
    if unit == "share":
        return f"{100 * value:+.1f}"
    sign = "-" if value < 0 else "+"
    return f"{sign}{_cell(abs(value), unit)}"


def _message(message: OneSidedMessage) -> str:
    doubt = "" if message.p_value <= CHANCE else ", perhaps by chance"
    return f"{counted(message.sessions, 'session')}{doubt}: {message.reason}: {message.message}"


_EXPECTATIONS = {
    "as_expected": "as expected",
    "more": "more than expected",
    "less": "less than expected",
    "opposite": "the other way",
    "not_seen": "not seen",
    "unclear": "perhaps: the week is too noisy to tell",
    "too_few": "too few sessions to judge",
}


def change_outcomes_document(outcomes: Sequence[ChangeOutcome], asking: Asking = HERE) -> Document:
    """Return the changes that people wrote down, with what they expected and what became of it."""
    if not outcomes:
        return [Paragraph("No change is written down.")]
    blocks: list[Block] = []
    for outcome in outcomes:
        change, comparison = outcome.change, outcome.comparison
        by = f" by {quote(change.by)}" if change.by else ""
        texts: list[str | Command] = []
        if comparison is None:
            texts = [f"{figure}: expected {_signed(share)}" for figure, share in change.expected.items()]
            texts.append(f"Judged from {outcome.judged_from:%Y-%m-%d %H:%M} UTC on, after a week.")
        else:
            texts = [*map(_expectation_sentence, outcome.expectations), comparison_verdict(comparison)]
        if outcome.others:
            names = "; ".join(quote(text, 60) for text in shortened(outcome.others, 3))
            texts.append(f"Not distinguishable from other changes of these two weeks: {names}")
        title = f"{change.changed_at:%Y-%m-%d %H:%M} UTC{by}: {quote(change.text)}"
        withdraw = Command(asking.command("change", "--withdraw", change.id), "if this was a mistake")
        blocks.append(Items([*texts, withdraw], title))
    return blocks


def _signed(share: float) -> str:
    return f"{'-' if share < 0 else '+'}{percent(abs(share))}"


def _expectation_sentence(expectation: Expectation) -> str:
    sentence = f"{expectation.title}: expected {_signed(expectation.expected)}"
    if expectation.realised is not None and expectation.low is not None and expectation.high is not None:
        ends = f"{_signed(expectation.low)} to {_signed(expectation.high)}"
        sentence += f", realised {_signed(expectation.realised)} ({ends})"
    return f"{sentence}: {_EXPECTATIONS[expectation.verdict]}."


def whatif_retry_document(result: RetryWhatIf) -> Document:
    """Return what the policy keeps and saves, by reason and caller, and what history cannot tell."""
    total = result.total
    if not total.chains:
        return [Heading(_NO_CHAINS)]
    kept = f"{total.kept} of {counted(total.kept + total.lost, 'recovery', 'recoveries')} kept"
    if total.kept_share is not None:
        kept += f" ({percent(total.kept_share)}; {percent(total.kept_low)} to {percent(total.kept_high)})"
    if unknown := total.unclear + total.cut:
        kept += f", unknown for {counted(unknown, 'chain')}"
    saved = f"waiting: {_saved(_seconds, total.seconds_saved, total.seconds_low, total.seconds_high)}"
    money = ""
    if total.usd_saved:
        money = f"; cost: {_saved(_usd, total.usd_saved, total.usd_low or 0.0, total.usd_high or 0.0)}"
    policy = f"at most {counted(result.policy.attempts, 'call')} a chain"
    if result.policy.first_seconds is not None:
        policy += f", waits from {result.policy.first_seconds:g} s doubling to {result.policy.most_seconds:g} s"
    rows = [
        (
            group.reason,
            quote(group.caller, 40),
            count(group.chains),
            f"{group.kept} of {group.recovered}",
            count(group.lost),
            count(group.unclear + group.cut),
            _seconds(group.seconds_saved),
            _usd(group.usd_saved),
        )
        for group in result.groups[:MAX_GROUPS]
    ]
    names = ("reason", "caller", "chains", "kept", "lost", "unknown", "waiting saved", "saved")
    return [
        Heading(f"{kept}; {saved}{money}."),
        Paragraph(f"{counted(total.chains, 'chain')} of history with {policy}."),
        TableBlock(names, rows, more=_more(len(result.groups) - MAX_GROUPS)),
        Items(_unknown(result), "What history cannot tell:"),
    ]


def _unknown(result: RetryWhatIf) -> list[str]:
    total = result.total
    texts = [f"More than {counted(result.most_attempts, 'call')}: no chain made more."]
    if total.cut:
        texts.append(
            f"{counted(total.cut, 'chain')} failed where the old limit cut them: further calls might have helped."
        )
    if total.unclear:
        chains = counted(total.unclear, "chain")
        texts.append(f"{chains} recovered between two calls of history: nobody knows when, or no log has the waits.")
    if result.left_out:
        texts.append(
            f"{counted(result.left_out, 'chain')} left out: stopped by somebody, or without an end in the log."
        )
    return [*texts, "How long calls take: only waits are replayed. Savings leave out what is unknown."]


def _saved(write: Callable[[float], str], saved: float, low: float, high: float) -> str:
    """Say how much is saved, or how much more it takes, with the ends of the interval."""
    word = "saved" if saved >= 0 else "more"
    if low < 0 < high:
        ends = f"{write(-low)} more to {write(high)} saved"
    else:
        ends = " to ".join(write(end) for end in sorted((abs(low), abs(high))))
    return f"{write(abs(saved))} {word} ({ends})"


def _seconds(seconds: float) -> str:
    sign, amount = "-" if seconds < 0 else "", abs(seconds)
    return f"{sign}{duration(amount) if amount >= 60 else f'{amount:.1f} s'}"


def _usd(usd: float | None) -> str:
    return "–" if usd is None else f"{'-' if usd < 0 else ''}{dollars(abs(usd))}"


def whatif_model_document(result: ModelWhatIf) -> Document:
    """Return what the tokens of one model cost at the list prices of another, by caller."""
    sums, saved = result.sums, result.saved_usd
    cost, other = _usd(sums["cost_usd"]), _usd(sums["other_usd"])
    change = f"{_usd(abs(saved))} {'less' if saved >= 0 else 'more'}"
    rows = [
        (quote(row["caller"], 40), count(row["requests"]), _usd(row["cost_usd"]), _usd(row["other_usd"]))
        for row in result.callers.frame.head(MAX_GROUPS).iter_rows(named=True)
    ]
    requests = f"{count(int(sums['unpriced']))} of {counted(int(sums['requests']), 'request')}"
    limits = [
        f"{requests} have no list price of both models." if sums["unpriced"] else "",
        "Whether the other model does the work, and with as many tokens and calls: compare sessions of both.",
    ]
    model, instead = quote(result.model, 60), quote(result.other, 60)
    return [
        Heading(f"{instead} would have cost {other} in place of {cost}: {change}, at list prices."),
        TableBlock(("caller", "requests", model, instead), rows),
        Items(limits, "What history cannot tell:"),
    ]
