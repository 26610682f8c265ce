"""Rises of the unknown share, day by day: what the tests say of single days, before these become incidents."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Unpack

import polars as pl

from analyzer.analysis.detection.detection import Detection, frame
from analyzer.analysis.kinds.finding import SHARE, kind_of
from analyzer.analysis.summary.window_findings import Judged, judge_window
from analyzer.analysis.tables import Table, json_ready, table
from analyzer.analysis.window import Window, WindowWords, as_window
from analyzer.classifier import Rules
from analyzer.store import Judging
from analyzer.store.shown import ShownRows

if TYPE_CHECKING:
    from plotly.graph_objects import Figure


@dataclass(frozen=True, slots=True, repr=False)
class Spikes(ShownRows):
    """The days of a window on which a caller's unknown share was higher than its history allows."""

    found: tuple[Detection, ...]
    """Detections `spike` and `drift`, by caller, then day; docs/explanation/detection.md has the test."""
    unjudged: int
    """Caller-days with many unknown errors, and too little history before them to tell."""
    share: Table
    """Unknown share by day and caller."""
    window: Window

    @property
    def callers(self) -> tuple[str, ...]:
        """Callers with a rise, the one with the most unknown sessions first."""
        weight: dict[str, int] = {}
        for one in self.found:
            weight[one.caller or ""] = weight.get(one.caller or "", 0) + (one.sessions or 0)
        return tuple(sorted(weight, key=lambda caller: (-weight[caller], caller)))

    def to_polars(self) -> pl.DataFrame:
        """One row a detection."""
        return frame(self.found)

    def to_dict(self) -> dict[str, Any]:
        """JSON-ready."""
        return {
            "spikes": json_ready(self.found),
            "unjudged": self.unjudged,
            "share": self.share.to_dict(),
            "window": self.window.to_dict(),
        }

    def plot(self) -> Figure:
        """Unknown share by day, rises marked."""
        from analyzer.analysis.charts import unknown_share_chart

        return unknown_share_chart(self)

    def _shown(self) -> tuple[str, Mapping[str, str]]:
        said = [
            f"{one.caller}: {one.observed or 0:.0%} of its distinct errors up to {one.day} are unknown, "
            f"{one.expected or 0:.0%} expected ({one.note})"
            for one in self.found[:1]
        ]
        title = f"Spikes {said[0]!r}" if said else "Spikes, no rise of unknown errors"
        return title, {"found": f"{len(self.found):,}", "unjudged": f"{self.unjudged:,}"}


def spikes(
    store: Judging,
    window: str | Window | None = None,
    *,
    rules: Rules = None,
    **words: Unpack[WindowWords],
) -> Spikes:
    """Rises of the unknown share in a window; the history that they are measured against may lie before it.

    Raises:
        AnalyzerError: a window that cannot be read, rules that cannot be used.
    """
    chosen = as_window(window, **words)
    return spikes_of(judge_window(store, chosen, rules), chosen, table(store, "unknown-share", chosen))


def spikes_of(judged: Judged, chosen: Window, share: Table) -> Spikes:
    """The rises among the detections of a window that was judged already, with the answer of `unknown-share`."""
    found = [one for one in judged.detections if kind_of(one.finding).family == SHARE]
    found.sort(key=lambda one: (one.caller or "", one.day))
    return Spikes(tuple(found), len(judged.unjudged), share, chosen)
