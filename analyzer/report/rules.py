"""Documents about rules, and their JSON: lists, tests, explanations, scores."""

from __future__ import annotations

import json
from collections.abc import Collection, Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from analyzer.readable import counted, percent
from analyzer.report.document import Block, Document, Heading, Items, OneLine, Paragraph, TableBlock, quote

if TYPE_CHECKING:
    from analyzer.classifier import Classification
    from analyzer.classifier.rules.explain import Explanation
    from analyzer.classifier.rules.lint import Lint
    from analyzer.classifier.rules.loading import Pack
    from analyzer.classifier.rules.ruleset import Rule, Ruleset
    from analyzer.classifier.rules.scoring import Backtest, ChangedCase, HalfYear


def pack_document(chosen: Pack | None, present: Pack | None) -> Document:
    """Say which pack of rules is chosen, and which pack is in use now; None is no pack."""
    was = "none" if present is None else f"{present.version} of {present.date}"
    return [Paragraph(f"Pack {_pack_words(chosen)}; the present one: {was}.")]


def _pack_words(pack: Pack | None) -> str:
    if pack is None:
        return "none"
    return f"{pack.version} of {pack.date}, {counted(pack.rules, 'rule')}, from {'; '.join(pack.sources)}"


def _head(sentence: str, pack: Pack | None) -> Items:
    between = "stands between your own rules and the built-in ones"
    return Items([sentence, f"Pack {_pack_words(pack)}, {between}." if pack else ""])


def listing_document(ruleset: Ruleset, chosen: Sequence[Rule], pack: Pack | None = None) -> Document:
    """Return a table of rules in their order, below the pack that the rules file names."""
    from analyzer.classifier.rules.ruleset import EVIDENCE

    if not chosen:
        return [Paragraph(f"No rule of ruleset {ruleset.digest} has this reason.")]
    shown = "" if len(chosen) == len(ruleset.rules) else f", {len(chosen)} shown"
    rows = []
    for rule in chosen:
        evidence = ", ".join(key for key in EVIDENCE if getattr(rule, key))
        rows.append((rule.id, rule.reason, rule.detail or "-", evidence))
    head = f"Ruleset {ruleset.digest}: {len(ruleset.rules)} rules, the first that holds decides{shown}."
    sources = [[rule.source] for rule in chosen]
    return [_head(head, pack), TableBlock(("rule", "reason", "detail", "looks at"), rows, sources)]


def ages_document(ruleset: Ruleset, chosen: Sequence[Rule], pack: Pack | None = None) -> Document:
    """Return a table of rules with the dates of their newest sources, in the order of `chosen`."""
    undated = sum(not rule.dated for rule in chosen)
    rows = [(rule.dated or "undated", rule.id, rule.reason) for rule in chosen]
    sources = [[rule.source] for rule in chosen]
    head = f"Ruleset {ruleset.digest}: {counted(len(chosen), 'rule')}, oldest source first, {undated} without a date."
    return [_head(head, pack), TableBlock(("dated", "rule", "reason"), rows, sources)]


def stream_document(ruleset: Ruleset, halves: Sequence[HalfYear]) -> Document:
    """Return a table with a row for each half-year; the last row is the whole stream."""
    from analyzer.classifier.rules.scoring import KINDS

    rows = []
    for period in halves:
        counts = (str(period.counts[kind]) for kind in KINDS)
        rows.append((period.half, str(period.rows), percent(period.good_share), *counts))
    total = halves[-1]
    good = total.counts["right"] + total.counts["acceptable"]
    sentence = f"{good} of {counted(total.rows, 'labelled error')} right or acceptable, by ruleset {ruleset.digest}."
    names = ("half-year", "rows", "right or acceptable", *KINDS)
    return [Paragraph(sentence), TableBlock(names, rows)]


def lint_document(report: Lint, own: Collection[str] = ()) -> Document:
    """Return the findings of the lint with their places, then the overlaps."""
    findings = counted(len(report.findings), "finding") if report.findings else "No findings"
    samples = f"{report.examples} examples and {report.counter_examples} counter-examples"
    head = f"{findings} in {report.rules} rules, {samples} of ruleset {report.ruleset}."
    corpus = "" if report.corpus_lines is None else f"The corpus has {counted(report.corpus_lines, 'line')}."
    blocks: list[Block] = [Items([head, corpus])]
    for finding in report.findings:
        where = f"{finding.place}: " if finding.place else ""
        example = "" if finding.example is None else OneLine(_flat(finding.example))
        blocks.append(Items([example], f"{where}{finding.rule}: {finding.message}"))
    return [*blocks, *_overlaps(report, own)]


def verdict_document(result: Classification) -> Document:
    """Return the reason of an error, what it was matched on, and what to do."""
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
    return [Paragraph(f"{name}, by rule {result.rule} of ruleset {result.ruleset}."), TableBlock((), rows)]


def explanation_document(explanation: Explanation) -> Document:
    """Return the verdict on an error: the reason, what to do, why, all matches, and the facts."""
    blocks = [*verdict_document(explanation.classification), Items(explanation.why, "Why")]
    if explanation.matches:
        rows = []
        for match in explanation.matches:
            level = "" if match.level == 0 else f" (cause {match.level})"
            decides = "→" if match.decides else ""
            matched, held_back = quote(match.matched, 40), match.held_back or "-"
            rows.append((decides, f"{match.rule}{level}", match.reason, matched, held_back))
        blocks.append(Heading("Rules with evidence, in order", 2))
        blocks.append(TableBlock(("", "rule", "reason", "matched on", "held back by"), rows))
    for depth, (facts, status) in enumerate(zip(explanation.levels, explanation.statuses, strict=True)):
        shown = [(key, _flat(value)) for key, value in facts.to_dict().items() if key != "cause"]
        if facts.status is None and status is not None:
            shown.append(("status", f"{status}, as the text says"))
        blocks.append(Heading("Facts" if depth == 0 else f"Facts of cause {depth}", 2))
        blocks.append(TableBlock((), shown) if shown else Paragraph("none"))
    return blocks


def backtest_document(result: Backtest) -> Document:
    """Return the figures before and after, then the errors whose reason changed."""
    before, after = result.before, result.after
    changes = f"{len(result.improved)} improved, {len(result.regressed)} regressed, {len(result.moved)} moved otherwise"
    rulesets = f"Ruleset {before.ruleset} → {after.ruleset}."
    if before.ruleset == after.ruleset:
        rulesets = f"Ruleset {after.ruleset} on both sides; name another one with --rules."
    rows = [
        (title, percent(was.share), percent(now.share), str(now.total))
        for title, was, now in (
            ("clear, exact", before.clear, after.clear),
            ("all, acceptable", before.acceptable, after.acceptable),
            ("retry decision", before.retry, after.retry),
        )
    ]
    rows.append(("macro recall", percent(before.macro_recall), percent(after.macro_recall), ""))
    for reason, now in after.recall.items():
        if now.total:
            rows.append((f"  {reason}", percent(before.recall[reason].share), percent(now.share), str(now.total)))
    return [
        Items([f"{changes}, of {counted(result.cases, 'labelled error')}.", rulesets]),
        TableBlock(("", "before", "after", "cases"), rows),
        *_changes("Improved", result.improved),
        *_changes("Regressed", result.regressed),
        *_changes("Moved", result.moved),
    ]


def _overlaps(report: Lint, own: Collection[str]) -> Document:
    """Return a table of the rules whose examples other rules match too.

    If there are `own` rules, they are the only ones.
    """
    shown = [overlap for overlap in report.overlaps if not own or overlap.rule in own or overlap.other in own]
    hidden = len(report.overlaps) - len(shown)
    if not shown:
        words = f"{counted(hidden, 'overlap')} among the built-in rules: --json lists them."
        return [Paragraph(words)] if hidden else []
    others: dict[str, list[str]] = {}
    for overlap in shown:
        others.setdefault(overlap.rule, []).append(overlap.other)
    sentence = f"{counted(len(shown), 'overlap')}: examples that other rules match too; order decides."
    sentence += f" {hidden} more among the built-in rules: --json." if hidden else ""
    return [Paragraph(sentence), TableBlock((), [(rule, ", ".join(names)) for rule, names in others.items()])]


def _changes(title: str, changes: Sequence[ChangedCase]) -> Document:
    if not changes:
        return []
    rows = []
    for change in changes:
        wanted = f"; wanted {change.wanted}" if change.wanted != change.after else ""
        rows.append((change.id, f"{change.before} → {change.after}, by {change.after_rule}{wanted}"))
    notes = [[OneLine(_flat(change.input))] for change in changes]
    return [Heading(title, 2), TableBlock((), rows, notes)]


def _flat(value: object) -> str:
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)
    return " ".join(text.split())


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
