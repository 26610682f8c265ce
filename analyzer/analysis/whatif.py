"""Replay history under another retry policy, and price requests as another model's.

A chain of retries recovers when what stood in its way is over. History says between which two calls that was: after
the last call that failed, and not later than the one that succeeded. A call of the other policy that comes at or after
that success succeeds too, one that comes at or before the last failure fails too, and between them nobody knows. Times
are seconds waited since the first call; how long the calls themselves took is left out.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import astuple, dataclass
from itertools import accumulate
from typing import Any, Unpack

import polars as pl

from analyzer.analysis.kinds.statistics.tails import wilson_interval
from analyzer.analysis.tables import Table, Window, WindowWords, as_window, json_fields, json_ready, table
from analyzer.errors import AnalyzerError
from analyzer.frozen import frozen
from analyzer.readable import counted
from analyzer.recovery.retry.policy import Backoff
from analyzer.store import Store
from analyzer.store.shown import ShownRows

MOST_ATTEMPTS = 100
RESAMPLES = 400
"""Resamples of the bootstrap; the ends of the interval are its 2.5 % and 97.5 % quantiles (Efron 1979)."""
_MOST_ROWS = 1_000_000
"""Rows that are drawn at once."""
_ENDED = ("recovered", "exhausted", "surfaced", "escalated")


@frozen
class RetryPolicy:
    """The policy that history is replayed under."""

    attempts: int
    """Calls in all, the first included."""
    first_seconds: float | None = None
    """The wait before the second call; it doubles up to `most_seconds`. None: the waits of history."""
    most_seconds: float | None = None

    def __post_init__(self) -> None:
        if not 1 <= self.attempts <= MOST_ATTEMPTS:
            raise AnalyzerError(f"{self.attempts} attempts", f"give 1 to {MOST_ATTEMPTS}; the first call counts")

    def calls_at(self, history: Sequence[float]) -> list[float]:
        """Return the seconds waited before each call, for a chain whose calls came at those of `history`."""
        if self.first_seconds is None:
            return list(history[: self.attempts])
        backoff = Backoff(self.first_seconds, cap_seconds=self.most_seconds or self.first_seconds, jitter=0)
        waits = (backoff.delay_seconds(number) for number in range(self.attempts - 1))
        return list(accumulate(waits, initial=0.0))


def backoff_seconds(text: str | None) -> tuple[float | None, float | None]:
    """Return the first and the longest wait of a text like `2..30`, or of one number for equal waits.

    Raises:
        AnalyzerError: it is neither.
    """
    if text is None:
        return None, None
    first, dots, most = text.partition("..")
    try:
        ends = float(first), float(most if dots else first)
    except ValueError:
        ends = (-1.0, -1.0)
    if not 0 <= ends[0] <= ends[1] <= 86_400:
        raise AnalyzerError(f"not FIRST..LONGEST seconds: {text!r}", "write --backoff 2..30")
    return ends


@frozen
class ReplayedGroup:
    """The chains of one reason and caller under the other policy."""

    reason: str
    caller: str
    chains: int
    recovered: int
    """Chains that recovered in history."""
    kept: int
    """Of these, the ones that surely recover."""
    lost: int
    """Of these, the ones that surely do not."""
    unclear: int
    """Of these, the ones whose call would come between the last failure and the success, or whose waits are unknown."""
    kept_share: float | None
    """kept / (kept + lost), 0..1; null without any."""
    kept_low: float | None
    """Lower end of its 95 % interval (Wilson 1927)."""
    kept_high: float | None
    cut: int
    """Failed chains that the other policy would try further: history cannot say whether they recover. The savings leave
    them out, and the unclear ones."""
    calls_saved: int
    """Calls that are not made; negative if more are made."""
    seconds_saved: float
    seconds_low: float
    """Lower end of its 95 % interval (bootstrap over sessions)."""
    seconds_high: float
    usd_saved: float | None
    """Calls saved at the mean cost of a failed call of this reason and caller; null if no log tells that."""
    usd_low: float | None
    usd_high: float | None


@dataclass(frozen=True, slots=True, repr=False)
class RetryWhatIf(ShownRows):
    """History under another retry policy."""

    window: Window
    policy: RetryPolicy
    total: ReplayedGroup
    """All of it; reason and caller are empty."""
    groups: tuple[ReplayedGroup, ...]
    """By reason and caller, those with most chains first."""
    most_attempts: int
    """The most calls that any chain of history made: nothing is known beyond."""
    left_out: int
    """Chains that somebody stopped, or whose end is in no log."""

    def to_polars(self) -> pl.DataFrame:
        """Return a row per reason and caller."""
        return pl.DataFrame(json_ready(self.groups), infer_schema_length=None)

    def to_dict(self) -> dict[str, Any]:
        """Return a JSON-ready dict, as `analyzer whatif retry --json` prints it."""
        return {"schema": "analyzer.whatif-retry/1", **json_fields(self)}

    def _shown(self) -> tuple[str, Mapping[str, str]]:
        facts = {"chains": f"{self.total.chains:,}", "kept": f"{self.total.kept:,} of {self.total.recovered:,}"}
        return f"What if at most {counted(self.policy.attempts, 'call')}", facts


@frozen
class Replayed:
    """What becomes of a chain."""

    fate: str
    """`kept` or `lost` of one that recovered, `failed` of one that fails as before; `unclear` of one that recovered,
    and `cut` of one that failed, if history cannot say."""
    calls_saved: int = 0
    seconds_saved: float = 0.0


def replay(outcome: str, attempts: int, waits: Sequence[float] | None, policy: RetryPolicy) -> Replayed:
    """Replay a chain that made these calls with these waits between them; None if its waits are unknown."""
    recovered, keeps_waits = outcome == "recovered", policy.first_seconds is None
    unknown = Replayed("unclear" if recovered else "cut")
    if keeps_waits and policy.attempts > attempts and outcome == "exhausted":
        return unknown
    if keeps_waits and policy.attempts >= attempts:
        return Replayed("kept" if recovered else "failed")
    if waits is None:
        return unknown
    history = list(accumulate(waits, initial=0.0))
    calls = policy.calls_at(history)
    made, fate = len(calls), "failed"
    if recovered:
        succeeding = next((number for number, at in enumerate(calls, 1) if at >= history[-1]), None)
        if succeeding is None and calls[-1] > history[-2]:
            return unknown
        made, fate = succeeding or made, "kept" if succeeding else "lost"
    elif outcome != "exhausted":  # a decision ended it, and not the number of calls
        made = min(attempts, made)
    elif calls[-1] > history[-1]:
        return unknown
    return Replayed(fate, attempts - made, history[-1] - calls[made - 1])


def whatif_retry(
    store: Store,
    attempts: int,
    backoff: str | None = None,
    *,
    window: str | Window | None = None,
    **words: Unpack[WindowWords],
) -> RetryWhatIf:
    """Replay the retry chains of a window with at most so many calls, and other waits if `backoff` names them.

    `backoff` is `2..30`: two seconds before the second call, doubled up to thirty.

    Raises:
        AnalyzerError: no such number of calls, backoff or window.
    """
    policy = RetryPolicy(attempts, *backoff_seconds(backoff))
    chosen = as_window(window, **words)
    rows = table(store, "whatif-chains", chosen).frame
    ended = rows.filter(pl.col("outcome").is_in(_ENDED))
    replayed = [
        replay(outcome, made, _waits(waits, made), policy)
        for outcome, made, waits in ended.select("outcome", "attempts", "waits").iter_rows()
    ]
    columns = {"fate": pl.String, "calls_saved": pl.Int64, "seconds_saved": pl.Float64}
    fates = pl.DataFrame([astuple(chain) for chain in replayed], columns, orient="row")
    chains = (
        pl.concat([ended, fates], how="horizontal")
        .join(_call_usd(store, chosen), on=["reason", "caller"], how="left", maintain_order="left")
        .with_columns(
            unit=pl.coalesce("session_id", "operation"),
            usd_saved=pl.col("calls_saved") * pl.col("call_usd"),
        )
    )
    groups = [_group(names, frame) for names, frame in chains.group_by("reason", "caller", maintain_order=True)]
    return RetryWhatIf(
        chosen,
        policy,
        _group(("", ""), chains),
        tuple(sorted(groups, key=lambda group: (-group.chains, group.reason, group.caller))),
        int(ended["attempts"].max() or 0),  # type: ignore[arg-type]
        rows.height - ended.height,
    )


def _waits(waits: str | None, attempts: int) -> list[float] | None:
    """Return the waits between the calls; None unless the log has all of them."""
    if attempts == 1:
        return []
    seconds: list[float | None] = json.loads(waits) if waits else []
    known_waits = [wait for wait in seconds if wait is not None]
    return known_waits if len(known_waits) == len(seconds) == attempts - 1 else None


def _call_usd(store: Store, chosen: Window) -> pl.DataFrame:
    """Return what a failed call cost on average, by reason and caller."""
    costs = table(store, "cost-of-failure", chosen).frame
    calls = costs.filter(pl.col("cause").is_in(["failed_request", "sent_again"])).drop_nulls("cost_usd")
    return calls.group_by("reason", "caller").agg(call_usd=pl.sum("cost_usd") / pl.sum("requests"))


def _group(names: tuple[Any, ...], chains: pl.DataFrame) -> ReplayedGroup:
    reason, caller = names
    fates = dict(chains.filter(pl.col("outcome") == "recovered")["fate"].value_counts().iter_rows())
    kept, lost = fates.get("kept", 0), fates.get("lost", 0)
    low, high = wilson_interval(kept / (kept + lost), kept + lost) if kept + lost else (None, None)
    priced = chains.height > 0 and chains["usd_saved"].null_count() < chains.height
    sums = chains.group_by("unit", maintain_order=True).agg(pl.sum("seconds_saved", "usd_saved"))
    (seconds_low, seconds_high), (usd_low, usd_high) = _intervals(sums.drop("unit"))
    return ReplayedGroup(
        reason,
        caller,
        chains=chains.height,
        recovered=sum(fates.values()),
        kept=kept,
        lost=lost,
        unclear=fates.get("unclear", 0),
        kept_share=kept / (kept + lost) if kept + lost else None,
        kept_low=low,
        kept_high=high,
        cut=chains.filter(pl.col("fate") == "cut").height,
        calls_saved=int(chains["calls_saved"].sum()),
        seconds_saved=round(float(chains["seconds_saved"].sum()), 3),
        seconds_low=seconds_low,
        seconds_high=seconds_high,
        usd_saved=round(float(chains["usd_saved"].sum()), 6) if priced else None,
        usd_low=usd_low if priced else None,
        usd_high=usd_high if priced else None,
    )


def _intervals(sums: pl.DataFrame) -> list[tuple[float, float]]:
    """Return the 95 % interval of the sum of each column, whose rows are drawn again (percentile bootstrap)."""
    if sums.is_empty():
        return [(0.0, 0.0)] * sums.width
    at_once = max(1, _MOST_ROWS // sums.height)
    drawn = pl.concat(
        sums.sample(sums.height * min(at_once, RESAMPLES - begun), with_replacement=True, seed=begun)
        .group_by(pl.int_range(pl.len()) // sums.height)
        .agg(pl.all().sum())
        for begun in range(0, RESAMPLES, at_once)
    ).select(sums.columns)
    low, high = (drawn.select(pl.all().quantile(share)).row(0) for share in (0.025, 0.975))
    return [(round(ends[0], 6), round(ends[1], 6)) for ends in zip(low, high, strict=True)]


@dataclass(frozen=True, slots=True, repr=False)
class ModelWhatIf(ShownRows):
    """The requests to a model at the list prices of another one."""

    model: str
    other: str
    window: Window
    callers: Table
    """By caller, as `whatif-model` has it."""
    sums: Mapping[str, float]
    """requests, unpriced, tokens, cost_usd, other_usd of all callers."""

    @property
    def saved_usd(self) -> float:
        """Return how much less the other model costs; negative if it costs more."""
        return self.sums["cost_usd"] - self.sums["other_usd"]

    def to_polars(self) -> pl.DataFrame:
        """Return a row per caller."""
        return self.callers.frame

    def to_dict(self) -> dict[str, Any]:
        """Return a JSON-ready dict, as `analyzer whatif model --json` prints it."""
        return {
            "schema": "analyzer.whatif-model/1",
            "model": self.model,
            "other": self.other,
            "window": json_ready(self.window),
            "total": {**self.sums, "saved_usd": self.saved_usd},
            "callers": json_ready(self.callers.frame),
        }

    def _shown(self) -> tuple[str, Mapping[str, str]]:
        return f"What if {self.other!r} in place of {self.model!r}", {"saved": f"${self.saved_usd:,.2f}"}


def whatif_model(
    store: Store, model: str, other: str, *, window: str | Window | None = None, **words: Unpack[WindowWords]
) -> ModelWhatIf:
    """Price the tokens of the requests to a model at the list prices of another model.

    Raises:
        AnalyzerError: the same model twice, no request to the model, a model without a price, or no such window.
    """
    if model == other:
        raise AnalyzerError(f"{model} twice", "write OLD=NEW with two models")
    chosen = as_window(window, **words)
    callers = table(store, "whatif-model", chosen, model=model, other=other)
    names = ("requests", "unpriced", "tokens", "cost_usd", "other_usd")
    sums = {name: float(callers.frame[name].sum()) for name in names}
    if not sums["requests"]:
        models = table(store, "cost-by-model", chosen).frame["model"].drop_nulls().unique().to_list()
        if not models:
            raise AnalyzerError("no request of this window names a model", "read logs: analyzer ingest PATH")
        raise AnalyzerError.unknown_value("model of this window", model, models)
    if sums["unpriced"] == sums["requests"]:
        raise AnalyzerError(f"{model} or {other} has no list price", "see: analyzer prices list")
    return ModelWhatIf(model, other, chosen, callers, sums)
