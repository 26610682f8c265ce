"""`analyzer rules`: list, test and explain the rules of the classifier, and score them."""

from __future__ import annotations

import contextlib
import json
import os
import sys
from collections.abc import Callable, Iterator
from dataclasses import asdict
from typing import TYPE_CHECKING, Any, TypeVar

import click

from analyzer.cli.inputs import read_lines, rules_in_use, ruleset_in_use, stated_time, time_option
from analyzer.cli.options import ListingGroup, json_option, rules_option, store_path_option
from analyzer.cli.output import Out, counting, narrate, write
from analyzer.cli.stores import NamedStore, default_store
from analyzer.command_lines import command_line
from analyzer.errors import FINDINGS, AnalyzerError, InputError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from analyzer.analysis.rules.drafts import Recoveries
    from analyzer.analysis.rules.ruleset_changes import AlarmChanges, Churn
    from analyzer.classifier.rules.loading import Pack
    from analyzer.classifier.rules.ruleset import Ruleset
    from analyzer.report.document import Document

    Trial = tuple[Churn, AlarmChanges, Sequence[tuple[str, Recoveries]]]


T = TypeVar("T")


@click.group("rules", cls=ListingGroup)
def command() -> None:
    """List, test and explain the rules that classify errors.

    \b
      analyzer rules explain "prompt is too long: 210000 tokens > 200000 maximum"
      analyzer rules test --rules my-rules.toml
      analyzer rules backtest --rules my-rules.toml --labels labelled.jsonl

    Your own rules extend or override the built-in ones. Name your file by --rules, $ANALYZER_RULES, or in
    analyzer.toml, here or in a folder above: [classifier] rules = "my-rules.toml".
    """


@command.command("list")
@rules_option
@click.option("--reason", metavar="REASON", help="Only rules of this reason.")
@click.option("--by-age", is_flag=True, help="Oldest source first; undated rules lead.")
@json_option
def list_command(rules_path: str | None, reason: str | None, by_age: bool, out: Out) -> None:
    """List the rules in the order in which they are tried.

    \b
      analyzer rules list --reason rate_limited
      analyzer rules list --by-age
    """
    from analyzer.report.rules import ages_document, listed, listing_document

    _refuse_reason(reason)
    ruleset = ruleset_in_use(rules_path)
    chosen = [rule for rule in ruleset.rules if reason in (None, rule.reason)]
    if by_age:
        chosen.sort(key=lambda rule: rule.dated)
    pack = _pack_in_use(rules_path)
    make = ages_document if by_age and chosen else listing_document
    _answer(out, "rules-list", listed(ruleset, chosen, pack), lambda: make(ruleset, chosen, pack))


@command.command("test")
@rules_option
@click.option("--corpus", metavar="FILE", help="JSON lines of errors: report rules that match none.")
@click.option("--stream", metavar="FILE", help="JSON lines with date and expected: score by half-year.")
@json_option
def test_command(rules_path: str | None, corpus: str | None, stream: str | None, out: Out) -> int:
    """Run each rule's examples, and report rules that are hidden, too slow or never used.

    \b
      analyzer rules test --rules my-rules.toml --corpus errors.jsonl
      analyzer rules test --stream dated.jsonl

    Exit code 1 means problems, 2 a broken file. With --stream it scores the rules and exits with 0.
    """
    if stream is not None:
        if corpus is not None:
            raise click.UsageError("give either --corpus FILE or --stream FILE")
        _score_stream(rules_path, stream, out)
        return 0
    from analyzer.classifier.rules.lint import lint
    from analyzer.classifier.rules.loading import default_ruleset
    from analyzer.report.rules import lint_document

    ruleset = ruleset_in_use(rules_path)
    report = lint(ruleset, None if corpus is None else (error for _, error in _lines(corpus)))
    own = {rule.id for rule in ruleset.rules} - {rule.id for rule in default_ruleset().rules}
    _answer(out, "rules-test", {"ok": not report.findings, **asdict(report)}, lambda: lint_document(report, own))
    return FINDINGS if report.findings else 0


@command.command("explain")
@click.argument("text")
@click.option("--status", type=int, help="HTTP status.")
@click.option("--exit-code", type=int, help="Exit code of the command.")
@click.option("--at", metavar="TIME", help="When it happened (ISO 8601).")
@rules_option
@json_option
def explain_command(
    text: str, status: int | None, exit_code: int | None, at: str | None, rules_path: str | None, out: Out
) -> None:
    """Explain how a reason was chosen, for TEXT or for one JSON object on stdin with -.

    \b
      analyzer rules explain --status 529 Overloaded
      echo '{"status": 429, "message": "slow down"}' | analyzer rules explain -

    It shows the facts, each matching rule, why the first one wins, and what to do next.
    """
    from analyzer.classifier.rules.explain import explain
    from analyzer.report.rules import explained, explanation_document

    error = _error(text, status, exit_code)
    moment = time_option(at) or stated_time(error.get("timestamp") if isinstance(error, dict) else None)
    explanation = explain(error, at=moment, rules=ruleset_in_use(rules_path))
    _answer(out, "rules-explain", explained(explanation), lambda: explanation_document(explanation), width=80)


@command.command("backtest")
@rules_option
@click.option("--labels", metavar="FILE", help="JSON lines with input and reason.")
@click.option("--store", "store_path", metavar="FILE", help="A store whose history to try.")
@json_option
def backtest_command(rules_path: str | None, labels: str | None, store_path: str | None, out: Out) -> None:
    """Try rules on labelled errors or on a store's history, without changing anything.

    \b
      analyzer rules backtest --rules my-rules.toml --labels labelled.jsonl
      analyzer rules backtest --rules my-rules.toml --store fleet.duckdb

    With --labels it compares the rules in use with --rules; without --rules, the built-in rules with those in
    use. With --store it shows which messages change their reason, and which past alarms vanish, appear or stay.
    To keep the new reasons: analyzer reclassify --apply.
    """
    if (labels is None) == (store_path is None):
        raise click.UsageError("give either --labels FILE or --store FILE")
    if labels is not None:
        _score(rules_path, labels, out)
    else:
        trial = _try_rules(ruleset_in_use(rules_path), str(store_path))
        _answer(out, "rules-churn", _to_dict(trial), lambda: _document(trial))


@command.command("accept")
@click.argument("fingerprint")
@store_path_option()
@click.option("--rules", "rules_path", metavar="FILE", help="Your rules file; created if missing.")
@click.option("--reason", metavar="REASON", help="Reason of the rule, instead of the drafted one.")
def accept_command(fingerprint: str, store_path: str, rules_path: str | None, reason: str | None) -> None:
    """Write the drafted rule for a group of unknown errors into your rules file.

    \b
      analyzer rules accept 1-2cfdf23c2e48 --rules my-rules.toml --reason rate_limited
      analyzer rules backtest --rules my-rules.toml --store fleet.duckdb

    analyzer unknowns shows the FINGERPRINT. A draft is refused if it has no reason, matches errors with other
    reasons, or fails the tests of analyzer rules test. The store changes with the next analyzer reclassify
    --apply.
    """
    from analyzer.analysis.rules.unknowns import drafted
    from analyzer.analysis.tables import Window
    from analyzer.classifier.rules import packs
    from analyzer.classifier.rules.lint import lint
    from analyzer.classifier.rules.loading import ruleset_for, ruleset_of
    from analyzer.events.times import now
    from analyzer.report.unknowns import with_rule

    _refuse_reason(reason)
    if reason == "unknown":
        raise AnalyzerError(
            "a rule for 'unknown' would decide nothing", "an error that no rule knows is unknown already"
        )
    path, own = _own_rules(rules_path)
    rules = ruleset_of(own, path) if own else ruleset_for(None)
    with NamedStore(store_path).open_for_queries() as store:
        draft = drafted(store, Window(), fingerprint, rules, reason)
    if draft is None:
        listing = command_line("unknowns", store=store_path)
        raise AnalyzerError(f"there is no group of unknown errors {fingerprint!r}", f"the groups: {listing}")
    if draft.refused is not None:
        raise AnalyzerError(f"the draft for {fingerprint} is refused: {draft.refused}", "write the rule by hand")
    if draft.reason is None:
        raise AnalyzerError(f"there is no evidence for a reason of {fingerprint}", "choose one: --reason REASON")
    taken = sorted({collision.rule for collision in draft.collisions if collision.reason != draft.reason})
    if taken:
        raise AnalyzerError(f"the draft takes errors of rules {', '.join(taken)}", "write the rule by hand")
    text = with_rule(own.decode("utf-8-sig"), draft, draft.reason)
    text = packs.counted_up(text, f"{now():%Y-%m-%d}", "rules accepted from what a store had seen")
    wrong = [finding for finding in lint(ruleset_of(text.encode(), path)).findings if finding.rule == draft.id]
    if wrong:
        raise AnalyzerError(f"the draft has a problem: {wrong[0].message}", "write the rule by hand")
    write(text, path)
    narrate(f"{path}: rule {draft.id} says {draft.reason}{', weakly' if draft.weak else ''}: {draft.evidence[0]}")


@command.command("update")
@click.argument("pack_path", metavar="[FILE]", required=False)
@store_path_option(default=None)
@click.option("--rules", "rules_path", metavar="FILE", help="Your rules file; created if missing.")
@click.option("--undo", is_flag=True, help="Go back to the pack before, or to none.")
@click.option("--apply", is_flag=True, help="Install the pack, and reclassify the store.")
@json_option
def update_command(
    pack_path: str | None, store_path: str | None, rules_path: str | None, undo: bool, apply: bool, out: Out
) -> None:
    """Try a pack of rules on the store's history, and install it with --apply.

    \b
      analyzer rules update house-rules.toml --rules my-rules.toml
      analyzer rules update house-rules.toml --rules my-rules.toml --apply --json
      analyzer rules update --undo --apply

    A pack is a rules file with a version, a date and sources. It applies after your own rules and before the built-in
    ones. A faulty or older pack is refused. Nothing is downloaded. Earlier packs stay beside your rules file.
    """
    from analyzer.classifier.rules import packs
    from analyzer.classifier.rules.lint import lint
    from analyzer.classifier.rules.loading import pack_in, read_rules, ruleset_for, ruleset_of
    from analyzer.readable import counted
    from analyzer.report.rules import pack_document

    if undo == (pack_path is not None):
        raise click.UsageError("give either the FILE of a pack or --undo")
    path, own = _own_rules(rules_path)
    present = packs.present(own, path)
    new: bytes | None = None
    if pack_path is not None:
        new = read_rules(pack_path)
        chosen: Pack | None = pack_in(new, pack_path)
    elif present is None:
        raise AnalyzerError(f"{path} has no pack that could be given back", command_line("rules", "list"))
    else:
        chosen = packs.before(path, present)
    kept = "" if chosen is None else packs.kept_at(path, chosen.version)
    if new is not None and chosen is not None:
        _refuse_version(chosen, present, new, kept)
    text = packs.naming(own.decode("utf-8-sig"), kept)
    ruleset = ruleset_of(text.encode(), path, new)
    wrong = lint(ruleset).findings
    if wrong:
        former = lint(ruleset_of(own, path) if own else ruleset_for(None)).findings
        former_faults = {(finding.kind, finding.rule) for finding in former}
        wrong = tuple(finding for finding in wrong if (finding.kind, finding.rule) not in former_faults)
    if wrong:
        raise AnalyzerError(
            f"these rules have problems: {counted(len(wrong), 'rule')}: {wrong[0].rule}: {wrong[0].message}",
            "ask its author to fix it",
        )
    store_path = store_path or (default_store() if os.path.exists(default_store()) else None)
    if out.form != "json":
        write(out.written(pack_document(chosen, present), None), None)
    if store_path is None:
        narrate("there is no store to try it on; name one with --store FILE")
    trial = None if store_path is None else _try_rules(ruleset, store_path)
    if trial is not None and out.form != "json":
        write("\n" + out.written(_document(trial)), None)
    if apply:
        with contextlib.ExitStack() as stack:
            # Opened first: a store that is busy refuses before anything is written.
            store = stack.enter_context(NamedStore(store_path).open_for_decisions()) if store_path is not None else None
            if new is not None and not os.path.lexists(kept):
                write(new, kept)
            write(text, path)
            if store is not None:
                progress = stack.enter_context(counting("facts", quiet=False))
                store.reclassify(ruleset, apply=True, progress=progress)
    words = ("rules", "update", "--undo", *(() if rules_path is None else ("--rules", rules_path)), "--apply")
    back = f"Taken into {path}. Back again: {command_line(*words, store=store_path)}"
    content = {
        "pack": None if chosen is None else chosen._asdict(),
        "present": None if present is None else present._asdict(),
        "rules": path,
        "ruleset": ruleset.digest,
        "applied": apply,
        "changes": None if trial is None else _to_dict(trial),
    }
    _answer(out, "rules-update", content, lambda: back if apply else "Nothing is changed without --apply.")


def _own_rules(rules_path: str | None) -> tuple[str, bytes]:
    """Return the path of the user's own rules file, and its text; empty if the file is missing.

    Raises:
        UsageError: no rules file is named.
    """
    from analyzer.classifier.rules.loading import read_rules

    path = rules_in_use(rules_path)
    if path is None:
        raise click.UsageError("name your own rules file with --rules FILE")
    return path, read_rules(path) if os.path.lexists(path) else b""


def _refuse_version(chosen: Pack, present: Pack | None, new: bytes, kept: str) -> None:
    """Refuse a pack that is older than the present one, or another text of a version that was taken before."""
    from analyzer.classifier.rules.loading import read_rules

    if present is not None and chosen.order < present.order:
        back = command_line("rules", "update", "--undo")
        raise AnalyzerError(
            f"version {chosen.version} is older than the present one, {present.version}", f"back: {back}"
        )
    if os.path.lexists(kept) and read_rules(kept) != new:
        raise AnalyzerError(
            f"version {chosen.version} was taken before, with other rules: {kept}",
            "ask its author for a higher version",
        )


def _score_stream(rules_path: str | None, stream: str, out: Out) -> None:
    """Score the rules on labelled, dated errors, by half-year."""
    from analyzer.classifier.rules.scoring import dated, score_stream
    from analyzer.report.rules import stream_document, streamed

    ruleset = ruleset_in_use(rules_path)
    shape = 'each line is {"date": "2026-05-04", "status": 429, "message": "…", "expected": "rate_limited"}'
    rows, bad = _read_labelled(stream, lambda record, _: dated(record), "labelled, dated errors", shape)
    halves = score_stream(rows, ruleset)
    _answer(out, "rules-stream", streamed(ruleset, halves, bad), lambda: stream_document(ruleset, halves))


def _score(rules_path: str | None, labels: str, out: Out) -> None:
    """Score the rules on labelled errors, beside the rules before."""
    from analyzer.classifier.rules.loading import default_ruleset
    from analyzer.classifier.rules.scoring import backtest, label
    from analyzer.report.rules import backtest_document, scored

    before = default_ruleset() if rules_path is None else ruleset_in_use(None)
    shape = 'each line is {"input": …, "reason": "rate_limited"}'
    cases, bad = _read_labelled(labels, label, "labelled errors", shape)
    result = backtest(cases, before, ruleset_in_use(rules_path))
    _answer(out, "rules-backtest", scored(result, bad), lambda: backtest_document(result))


def _read_labelled(path: str, read: Callable[[object, int], T | None], plural: str, shape: str) -> tuple[list[T], int]:
    """Read the records of a file with `read`, and count the lines that it refuses with None.

    Raises:
        InputError: the file has no such record; the message says `plural`, the hint `shape`.
    """
    lines = [(number, read(record, number)) for number, record in _lines(path)]
    records = [record for _, record in lines if record is not None]
    if not records:
        raise InputError(f"{path}: no {plural}", shape)
    bad = [number for number, record in lines if record is None]
    if bad:
        narrate(f"{path}: {len(bad)} lines are no {plural}, the first one is line {bad[0]}")
    return records, len(bad)


def _try_rules(ruleset: Ruleset, store_path: str) -> Trial:
    """Find the verdicts and alarms of a store's history that rules would change, and helpful retries."""
    from analyzer.analysis.rules.ruleset_changes import alarm_changes, churn
    from analyzer.analysis.rules.unknowns import helped_by_retries

    with NamedStore(store_path).open_for_queries() as store, counting("facts", quiet=False) as progress:
        changes = churn(store, ruleset, progress=progress)
        helped = helped_by_retries(store, {change.template for change in changes.recovered})
    return changes, alarm_changes(changes.verdicts), helped


def _to_dict(trial: Trial) -> dict[str, Any]:
    """Turn a trial into an object for JSON."""
    changes, alarms, helped = trial
    rows = [{"template": template, **asdict(outcome)} for template, outcome in helped]
    return {**changes.to_dict(), "alarms": alarms.to_dict(), "helped_by_retries": rows}


def _document(trial: Trial) -> Document:
    """Return the document of a trial."""
    from analyzer.report.changes import alarms_document, churn_document, helped_document

    changes, alarms, helped = trial
    return [*churn_document(changes), *alarms_document(alarms), *helped_document(helped)]


def _pack_in_use(option: str | None) -> Pack | None:
    """Return the pack that the rules file in use names."""
    from analyzer.classifier.rules import packs
    from analyzer.classifier.rules.loading import read_rules

    path = rules_in_use(option)
    return None if path is None else packs.present(read_rules(path), path)


def _error(text: str, status: int | None, exit_code: int | None) -> object:
    """Return the error of the arguments, or that of stdin for `-`, with the options added."""
    from analyzer.classifier.reading.extract import described

    if text != "-":
        return described(text, status, exit_code)
    raw = sys.stdin.buffer.read().decode("utf-8", "replace").strip()
    try:
        error = json.loads(raw)
    except (ValueError, RecursionError):
        raise AnalyzerError("stdin is no JSON object", "give the TEXT of the error as the argument") from None
    if not isinstance(error, dict):
        raise AnalyzerError("stdin is no JSON object", 'write {"status": 429, "message": "…"}')
    return described(error, status, exit_code)


def _lines(path: str) -> Iterator[tuple[int, object]]:
    """Yield the number and the content of the lines that are not blank.

    A line that is no JSON is a text.

    Raises:
        InputError: the file cannot be read.
    """
    for line in read_lines(path):
        yield line.number, line.value if line.why is None else line.text


def _refuse_reason(reason: str | None) -> None:
    from analyzer.classifier.recovery_table import REASONS

    if reason is not None and reason not in REASONS:
        raise AnalyzerError.unknown_value("reason", reason, REASONS)


def _answer(
    out: Out, schema: str, content: dict[str, Any], make: Callable[[], str | Document], width: int | None = None
) -> None:
    out.answer({"schema": f"analyzer.{schema}/1", **content}, make, default=str, width=width)
