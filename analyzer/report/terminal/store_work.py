"""What work on a store came to, for a terminal: the figures first, then what was left out and what to do about it.

Invariant: paths and texts of logs went through `terminal_safe`.
"""

from __future__ import annotations

import os

from analyzer.command_lines import HERE, Asking
from analyzer.phrases import counted
from analyzer.report.cells import count
from analyzer.report.escape import terminal_safe
from analyzer.store import IngestResult, Prune, QuarantineRetry, Rebuild

MAX_VANISHED = 5
"""Logs that are gone which the summary of a rebuild names."""


def render_ingest(result: IngestResult, store_path: str, asking: Asking = HERE) -> str:
    """What was read, what became of each line, and what is to come."""
    total = result.total
    unread = sum(item.tally.skipped for item in result.sources if item.status == "unsupported")
    rate = total.bytes / 1e6 / result.seconds if result.seconds else 0.0
    met = f"{counted(len(result.sources), 'file')}, {counted(total.lines, 'new line')}"
    lines = [
        f"{met}, {counted(total.events, 'new event')} → {terminal_safe(store_path)}",
        f"  {total.bytes / 1e6:,.1f} MB in {result.seconds:.1f} s ({rate:,.0f} MB/s)",
        "",
    ]
    figures = [
        ("gave events", total.event_lines, ""),
        ("duplicates", total.duplicates, "their events were here already"),
        (
            "in quarantine",
            total.quarantined,
            f"see: {asking.command('query', 'quarantine-lines')}" if total.quarantined else "",
        ),
        ("blank", total.blank, ""),
        ("carry nothing", total.skipped - unread, "lines of other tools' logs that are not about failures"),
        ("not read", unread, "lines of files in formats that are not read, see below" if unread else ""),
    ]
    width = max(len(count(number)) for _, number, _ in figures)
    lines += [f"  {number:>{width},}  {label:14} {note}".rstrip() for label, number, note in figures]
    if result.unchanged:
        lines.append(f"\n{counted(result.unchanged, 'file')} had nothing new.")
    pending = sum(item.pending_bytes > 0 and item.status == "read" for item in result.sources)
    if pending:
        lines.append(f"{pending:,} unfinished last line{'s wait for their' if pending > 1 else ' waits for its'} end.")
    if total.mended:
        lines.append(f"{counted(total.mended, 'line')} with half of an emoji or the like, which is kept as U+FFFD.")
    if result.pruned:
        lines.append(f"{counted(result.pruned, 'new event')} left out: {_PRUNED}")
    if result.unjudged:
        said = f"{counted(result.unjudged, 'new error')} without a verdict of the active ruleset"
        lines.append(f"{said}: {asking.command('reclassify', '--apply')}")
    if unsupported := result.unsupported():
        said = ", ".join(f"{name} ({files:,})" for name, files in sorted(unsupported.items()))
        lines.append(f"Not read yet, or no log, by format (files): {said}")
    return "\n".join(lines)


def render_rebuild(result: Rebuild, store_path: str, asking: Asking = HERE) -> str:
    """What there is now, what it was made from, what is missing."""
    met = f"{counted(result.events, 'event')} of {counted(result.sources, 'file')}"
    lines = [f"{met} → {terminal_safe(store_path)} in {result.seconds:.1f} s"]
    if os.path.islink(store_path):
        lines.append(f"  {terminal_safe(store_path)} is a link to {terminal_safe(result.store)}")
    lines.append(f"  {counted(result.journal_events, 'event')} from the journal")
    if result.carried_events:
        lines.append(f"  {counted(result.carried_events, 'event')} that only the store before still had")
    if result.why:
        lines.append(f"The store before could not be read: {terminal_safe(result.why)}")
    if result.journal_damaged:
        lines.append(f"{counted(result.journal_damaged, 'line')} of the journal cannot be read.")
    if result.ruleset:
        lines.append(f"Active ruleset: {result.ruleset}")
    if result.unjudged:
        command = asking.command("reclassify", "--apply")
        lines.append(f"{counted(result.unjudged, 'distinct error')} not judged by it: {command}")
    if result.vanished:
        lines.append(f"{counted(len(result.vanished), 'file')} no longer there; what was read of them is kept:")
        lines += [f"  {terminal_safe(path)}" for path in result.vanished[:MAX_VANISHED]]
    if (hidden := len(result.vanished) - MAX_VANISHED) > 0:
        command = asking.command("sql", "from sources where status = 'vanished'")
        lines.append(f"  and {hidden} more: {command}")
    if result.aside:
        lines.append(f"The store before is kept as {terminal_safe(result.aside)}; delete it when all is well.")
    return "\n".join(lines)


def render_prune(result: Prune, *, files: bool) -> str:
    """What went or would go; `files` says whether files were asked for, too."""
    went = "Deleted" if result.done else "A dry run. Would delete"
    lines = [
        f"{went} what happened before {result.before:%Y-%m-%d} UTC:",
        f"  {counted(result.events, 'event')}",
        f"  {counted(result.quarantined, 'row')} of quarantine",
    ]
    if files:
        lines.append(f"  {counted(len(result.files), 'file')}, {result.file_bytes / 1e6:,.1f} MB")
        lines += [f"    {terminal_safe(path)}" for path in result.files]
    if result.kept_files:
        lines.append(f"{counted(len(result.kept_files), 'file')} of those days kept:")
        lines += [f"  {terminal_safe(said)}" for said in result.kept_files]
    return "\n".join(lines)


def render_retry(result: QuarantineRetry, asking: Asking = HERE) -> str:
    """What became of the lines in quarantine."""
    lines = [
        f"{counted(result.mended, 'line')} of {result.tried:,} can be read now: {counted(result.events, 'new event')}.",
        f"{counted(result.remaining, 'line')} still in quarantine.",
    ]
    if result.pruned:
        lines.append(f"{counted(result.pruned, 'event')} left out: {_PRUNED}")
    if result.unjudged:
        command = asking.command("reclassify", "--apply")
        lines.append(f"{counted(result.unjudged, 'distinct error')} not judged: {command}")
    if result.gone:
        lines.append("Not tried again, as the file is gone or holds something else now:")
        lines += [f"  {terminal_safe(path)}" for path in result.gone]
    return "\n".join(lines)


_PRUNED = "older than what this store keeps since a prune."
