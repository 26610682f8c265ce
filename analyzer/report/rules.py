"""Write rules for a terminal and as JSON: lists, tests, explanations, scores.

The verdict comes first, then aligned lines. Texts of errors and of rules files are made safe for a
terminal before they are laid out.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from analyzer.readable import counted, percent
from analyzer.report.escape import one_line, terminal_safe
from analyzer.report.monospace import columns, fit, fold, hanging, indented

if TYPE_CHECKING:
    from analyzer.classifier import Classification
    from analyzer.classifier.rules.explain import Explanation
    from analyzer.classifier.rules.lint import Lint
    from analyzer.classifier.rules.loading import Pack
    from analyzer.classifier.rules.ruleset import Rule, Ruleset
    from analyzer.classifier.rules.scoring import Backtest, ChangedCase, HalfYear

WIDTH = 80
INPUT_WIDTH = 60
"""The cells that an error's text has in a list."""


def pack_sentence(chosen: Pack | None, present: Pack | None) -> str:
    """Say which pack of rules is chosen, and which pack is in use now; None is no pack."""
    was = "none" if present is None else f"{present.version} of {present.date}"
    return terminal_safe(f"Pack {_pack_words(chosen)}; the present one: {was}.")


def _pack_words(pack: Pack | None) -> str:
    if pack is None:
        return "none"
    return f"{pack.version} of {pack.date}, {counted(pack.rules, 'rule')}, from {'; '.join(pack.sources)}"


def _pack_line(pack: Pack | None) -> list[str]:
    between = "stands between your own rules and the built-in ones"
    return [] if pack is None else [terminal_safe(f"Pack {_pack_words(pack)}, {between}.")]


def render_listing(ruleset: Ruleset, chosen: Sequence[Rule], pack: Pack | None = None) -> str:
    """Write one line a rule, in order, below the pack that the rules file names."""
    from analyzer.classifier.rules.ruleset import EVIDENCE

    if not chosen:
        return f"No rule of ruleset {ruleset.digest} has this reason."
    shown = "" if len(chosen) == len(ruleset.rules) else f", {len(chosen)} shown"
    rows = [["rule", "reason", "detail", "looks at", "source"]]
    for rule in chosen:
        evidence = ", ".join(key for key in EVIDENCE if getattr(rule, key))
        rows.append([rule.id, rule.reason, rule.detail or "-", evidence, terminal_safe(rule.source)])
    head = f"Ruleset {ruleset.digest}: {len(ruleset.rules)} rules, the first that holds decides{shown}."
    return "\n".join([head, *_pack_line(pack), "", *columns(rows, [False] * 5)])


def render_ages(ruleset: Ruleset, chosen: Sequence[Rule], pack: Pack | None = None) -> str:
    """Write one line a rule with the date of its newest source, in the order of `chosen`."""
    undated = sum(not rule.dated for rule in chosen)
    rows = [["dated", "rule", "reason", "source"]]
    rows += [[rule.dated or "undated", rule.id, rule.reason, terminal_safe(rule.source)] for rule in chosen]
    head = f"Ruleset {ruleset.digest}: {counted(len(chosen), 'rule')}, oldest source first, {undated} without a date."
    return "\n".join([head, *_pack_line(pack), "", *columns(rows, [False] * 4)])


def render_stream(ruleset: Ruleset, halves: Sequence[HalfYear]) -> str:
    """Write one line a half-year; the last line is the whole stream."""
    from analyzer.classifier.rules.scoring import KINDS

    rows = [["half-year", "rows", "right or acceptable", *KINDS]]
    for period in halves:
        counts = [str(period.counts[kind]) for kind in KINDS]
        rows += [[period.half, str(period.rows), percent(period.good_share), *counts]]
    total = halves[-1]
    good = total.counts["right"] + total.counts["acceptable"]
    sentence = f"{good} of {counted(total.rows, 'labelled error')} right or acceptable, by ruleset {ruleset.digest}."
    return "\n".join([sentence, "", *columns(rows, [False] + [True] * 7)])


def render_lint(report: Lint, own: Collection[str] = ()) -> str:
    """Write the findings of the lint with their places, then the overlaps."""
    findings = counted(len(report.findings), "finding") if report.findings else "No findings"
    samples = f"{report.examples} examples and {report.counter_examples} counter-examples"
    lines = [f"{findings} in {report.rules} rules, {samples} of ruleset {report.ruleset}."]
    if report.corpus_lines is not None:
        lines.append(f"The corpus has {counted(report.corpus_lines, 'line')}.")
    for finding in report.findings:
        where = f"{finding.place}: " if finding.place else ""
        lines += ["", terminal_safe(f"{where}{finding.rule}: {finding.message}")]
        if finding.example is not None:
            lines.append(f"  {_short(finding.example)}")
    lines += _overlaps(report, own)
    return "\n".join(lines)


def render_verdict(result: Classification, width: int = WIDTH) -> str:
    """Write the reason of an error, what it was matched on, and what to do.

    No line is wider than `width` cells.
    """
    from analyzer.classifier.recovery_table import PARTIES, advice

    name = result.reason if result.detail is None else f"{result.reason} ({result.detail})"
    rows = [
        ("matched on", result.matched or "nothing"),
        ("confidence", f"{result.confidence}, by its {result.evidence}" if result.confidence else "none"),
        ("caused by", PARTIES[result.party]),
        ("retryable", "yes" if result.retryable else "no"),
        ("action", result.action),
        ("what to do", advice(result.reason, result.detail)),
    ]
    fields = result.to_dict()
    optional = ("retry_after_seconds", "reset_at", "current_tokens", "max_tokens", "provider", "model")
    rows += [(key, str(fields[key])) for key in optional if fields[key] is not None]
    head = fold(f"{name}, by rule {result.rule} of ruleset {result.ruleset}.", width)
    return "\n".join([*head, "", *_pairs(rows, width)])


def render_explanation(explanation: Explanation) -> str:
    """Write the verdict on an error: the reason, what to do, why, all matches, and the facts."""
    lines = [render_verdict(explanation.classification), "", "Why"]
    lines += [line for sentence in explanation.why for line in indented(terminal_safe(sentence), WIDTH)]
    if explanation.matches:
        lines += ["", "Rules with evidence, in order"]
        table = [["", "rule", "reason", "matched on", "held back by"]]
        for match in explanation.matches:
            mark = "→" if match.decides else " "
            level = "" if match.level == 0 else f" (cause {match.level})"
            matched = fit(terminal_safe(match.matched), 40)
            table.append([f"  {mark}", f"{match.rule}{level}", match.reason, matched, match.held_back or "-"])
        lines += columns(table, [False] * 5)
    for depth, (facts, status) in enumerate(zip(explanation.levels, explanation.statuses, strict=True)):
        shown = [(key, _flat(value)) for key, value in facts.to_dict().items() if key != "cause"]
        if facts.status is None and status is not None:
            shown.append(("status", f"{status}, as the text says"))
        lines += ["", "Facts" if depth == 0 else f"Facts of cause {depth}"]
        lines += _pairs(shown) if shown else ["  none"]
    return "\n".join(lines)


def render_backtest(result: Backtest) -> str:
    """Write the figures before and after, then the errors whose reason changed."""
    before, after = result.before, result.after
    changes = f"{len(result.improved)} improved, {len(result.regressed)} regressed, {len(result.moved)} moved otherwise"
    lines = [f"{changes}, of {counted(result.cases, 'labelled error')}."]
    if before.ruleset == after.ruleset:
        lines += [f"Ruleset {after.ruleset} on both sides; name another one with --rules.", ""]
    else:
        lines += [f"Ruleset {before.ruleset} → {after.ruleset}.", ""]
    rows = [["", "before", "after", "cases"]]
    for title, was, now in (
        ("clear, exact", before.clear, after.clear),
        ("all, acceptable", before.acceptable, after.acceptable),
        ("retry decision", before.retry, after.retry),
    ):
        rows.append([title, percent(was.share), percent(now.share), str(now.total)])
    rows.append(["macro recall", percent(before.macro_recall), percent(after.macro_recall), ""])
    for reason, now in after.recall.items():
        if now.total:
            rows.append([f"  {reason}", percent(before.recall[reason].share), percent(now.share), str(now.total)])
    lines += columns(rows, [False, True, True, True])
    for title, changed in (("Improved", result.improved), ("Regressed", result.regressed), ("Moved", result.moved)):
        lines += _changes(title, changed)
    return "\n".join(lines)


def _overlaps(report: Lint, own: Collection[str]) -> list[str]:
    """Write a line for each rule whose examples other rules match too.

    If there are `own` rules, they are the only ones.
    """
    shown = [overlap for overlap in report.overlaps if not own or overlap.rule in own or overlap.other in own]
    hidden = len(report.overlaps) - len(shown)
    if not shown:
        return ["", f"{counted(hidden, 'overlap')} among the built-in rules: --json lists them."] if hidden else []
    others: dict[str, list[str]] = {}
    for overlap in shown:
        others.setdefault(overlap.rule, []).append(overlap.other)
    width = max(map(len, others))
    sentence = f"{counted(len(shown), 'overlap')}: examples that other rules match too; order decides."
    lines = ["", sentence + (f" {hidden} more among the built-in rules: --json." if hidden else "")]
    for rule, names in others.items():
        lines += hanging(f"  {rule:{width}}  ", ", ".join(names), WIDTH)
    return lines


def _changes(title: str, changes: Sequence[ChangedCase]) -> list[str]:
    lines = ["", title] if changes else []
    for change in changes:
        lines.append(terminal_safe(f"  {change.id}  {change.before} → {change.after}, by {change.after_rule}"))
        if change.wanted != change.after:
            lines[-1] += f"; wanted {change.wanted}"
        lines.append(f"      {_short(change.input)}")
    return lines


def _short(error: object) -> str:
    """Write an error on one line, its end cut off."""
    return fit(_flat(error), INPUT_WIDTH)


def _flat(value: object) -> str:
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)
    return one_line(text)


def _pairs(rows: Iterable[tuple[str, str]], size: int = WIDTH) -> list[str]:
    """Write names and values in aligned lines; a value that is too long goes on below itself."""
    pairs = list(rows)
    width = max(len(name) for name, _ in pairs)
    return [line for name, value in pairs for line in hanging(f"  {name:{width}}  ", terminal_safe(value), size)]


def listed(ruleset: Ruleset, chosen: Sequence[Rule], pack: Pack | None) -> dict[str, Any]:
    """Return rules of a ruleset in their order JSON-ready, and the pack.

    A rule has its evidence and its guards.
    """
    from analyzer.classifier.rules.ruleset import EVIDENCE, GUARDS

    rules = [
        {
            "id": rule.id,
            "reason": rule.reason,
            "detail": rule.detail,
            "position": ruleset.rules.index(rule) + 1,
            "evidence": {key: list(getattr(rule, key)) for key in EVIDENCE if getattr(rule, key)},
            "guards": {key: list(getattr(rule, key)) for key in GUARDS if getattr(rule, key)},
            "symptom": rule.symptom,
            "strict_streams": rule.strict_streams,
            "weak": rule.weak,
            "source": rule.source,
            "dated": rule.dated or None,
            "place": ruleset.places.get(rule.id),
        }
        for rule in chosen
    ]
    return {"ruleset": ruleset.digest, "pack": None if pack is None else pack._asdict(), "rules": rules}


def streamed(ruleset: Ruleset, halves: Sequence[HalfYear], skipped: int) -> dict[str, Any]:
    """Return the half-years of a stream JSON-ready, `all` last.

    `skipped` lines were no labelled, dated errors.
    """
    rows = [
        {"half": period.half, "rows": period.rows, **period.counts, "good_share": period.good_share}
        for period in halves
    ]
    return {"ruleset": ruleset.digest, "halves": rows, "skipped": skipped}


def explained(explanation: Explanation) -> dict[str, Any]:
    """Return an explanation JSON-ready: the verdict, why, every match, and the facts.

    The verdict is that of `analyzer classify`.
    """
    verdict = explanation.classification
    return {
        **verdict.to_dict(),
        "remediation": verdict.remediation,
        "matched": verdict.matched,
        "evidence": verdict.evidence,
        "why": list(explanation.why),
        "matches": [asdict(match) for match in explanation.matches],
        "facts": verdict.facts.to_dict(),
    }


def scored(result: Backtest, skipped: int) -> dict[str, Any]:
    """Return both sides of a backtest and its changes JSON-ready.

    `skipped` lines were no labelled errors.
    """
    content = asdict(result)
    for side, score in (("before", result.before), ("after", result.after)):
        content[side]["macro_recall"] = score.macro_recall
    return {**content, "skipped": skipped}
