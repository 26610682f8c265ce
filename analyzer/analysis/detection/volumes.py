"""The tests of counts: does a caller have more errors than its days before and its exposure let one expect, or do many?

A caller's errors are counted together and by reason; those of a provider or model over all of its callers. One session
that repeats one message counts once. Each day is judged from that day and the days before it alone.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import date

import polars as pl

from analyzer.analysis.detection.detection import BASELINE_DAYS, Detection, Settings, frame
from analyzer.analysis.detection.volume_units import ANY, DAY_RATIO, Rise, Unit, units

LEAST_CALLERS = 3
"""Callers of a provider or model that have more errors than usual where it has an outage; half of all at least."""
_UNKNOWN = "unknown"
_REASONS = 9
"""Tests of single reasons that share a budget, beside that of all errors together."""
_ONES_OWN = 0.8
"""Part of a provider's errors from which on they are one model's, or one caller's."""
_VOLUME = ("day", "caller", "provider", "model", "reason", "sessions", "groups")
_WORK = ("day", "caller", "exposure", "seen", "error_sessions", "groups")

_Found = tuple[float, str, Rise, str]
"""Corrected p-value, reason, evidence and state."""
_Explained = set[tuple[int, str, str]]
"""Days, callers and reasons whose errors an outage explains."""


def volumes(
    volume: pl.DataFrame, work: pl.DataFrame, settings: Settings | None = None, *, over: str = ""
) -> pl.DataFrame:
    """Findings `volume` and `unknown_rate` of callers, `outage` of providers, `model_outage`: one a day and scope.

    `volume`: columns `day`, `caller`, `provider`, `model` (empty where unknown), `reason`, `sessions`, `groups`
    (distinct pairs of session and message). `work`: a row for each `day` on which a `caller` was at work, with its
    `exposure` (above 0: sessions, or 1 where logs show none without errors), whether it is sessions that were `seen`,
    and of all its errors together `error_sessions` and `groups`. `observed` and `expected` are groups of the span that
    ends with `day`; `scope` is the provider or model.
    `p_value` has no correction for the number of callers. `over` names the hours of a day that all counts are of, in
    words; each day is then judged alone.
    """
    alpha = (settings or Settings()).volume_alpha
    counts = volume.select(_VOLUME)
    at_work = work.select(_WORK).filter(pl.col("exposure") > 0)
    explained: _Explained = set()
    found = [one for what in ("provider", "model") for one in _outages(counts, at_work, what, alpha, explained, over)]
    return frame([*found, *_callers(counts, at_work, alpha, explained, over)])


def _callers(
    counts: pl.DataFrame, work: pl.DataFrame, alpha: float, explained: _Explained, over: str
) -> Iterator[Detection]:
    """The rises of callers. Of a day that an outage explains, its errors are nobody's own."""
    # Those with next to no errors are not at work.
    counts = counts.join(work.select("caller").unique(), on="caller", how="semi")
    by_one = counts.group_by("day", "reason", pl.col("caller").alias("name")).agg(pl.sum("sessions", "groups"))
    by_any = work.filter(pl.col("groups") > 0).select(
        "day",
        pl.lit(ANY).alias("reason"),
        pl.col("caller").alias("name"),
        pl.col("error_sessions").alias("sessions"),
        "groups",
    )
    own = pl.concat([by_one, by_any])
    at_work = work.rename({"caller": "name"})
    away = {*explained, *((day, caller, ANY) for day, caller, _ in explained)}
    for caller, by_reason in sorted(units(own, at_work, {caller for _, caller, _ in explained}).items()):
        for day in sorted({day for unit in by_reason.values() for day in unit.days}):
            rises: list[_Found] = []
            for reason, unit in by_reason.items():
                if (day, caller, reason) in away:
                    unit.excluded.add(day)
                    continue
                rise = unit.look(day, _budget(alpha, reason), alone=bool(over))
                state = unit.settle(day, rise)
                if rise is not None:
                    rises.append((rise.tail.p_value * alpha / _budget(alpha, reason), reason, rise, state))
            for kind, of_kind in _by_kind(rises):
                p_value, _, rise, state = min(of_kind, key=lambda each: each[:2])
                seen = any(unit.begins > 0 and day >= unit.begins for unit in by_reason.values())
                note = _note(rise, day, over, seen=seen)
                note += _most(rise, day, by_reason) if kind == "volume" else ""
                yield _detection(kind, day, rise, state, min(1.0, p_value), caller=caller, note=note)


def _by_kind(rises: list[_Found]) -> Iterator[tuple[str, list[_Found]]]:
    """The rises of a caller's day by the kind of finding: unknown errors are a kind of their own."""
    unknown = [each for each in rises if each[1] == _UNKNOWN]
    known = [each for each in rises if each[1] not in {_UNKNOWN, ANY}]
    if unknown:
        yield "unknown_rate", unknown
    if known or not unknown:
        every = known + [each for each in rises if each[1] == ANY]
        if every:
            yield "volume", every


def _outages(
    counts: pl.DataFrame, work: pl.DataFrame, what: str, alpha: float, explained: _Explained, over: str
) -> Iterator[Detection]:
    """The rises of providers or models that many of their callers show; what they explain is added to `explained`."""
    models = counts.group_by("day", "provider", "model", "reason").agg(pl.sum("groups"))
    named = counts.filter((pl.col(what) != "") & (pl.col("reason") != _UNKNOWN))
    by_caller = named.group_by("day", "reason", "caller", pl.col(what).alias("name")).agg(pl.sum("sessions", "groups"))
    pairs = [(date.fromordinal(day), caller, reason) for day, caller, reason in sorted(explained)]
    rest = pl.DataFrame(pairs, {"day": pl.Date, "caller": pl.String, "reason": pl.String}, orient="row")
    # An outage of a provider is none of its models', too.
    by_caller = by_caller.join(rest, on=["day", "caller", "reason"], how="anti")
    begins = by_caller.group_by("name", "caller").agg(pl.col("day").min().alias("first"))
    there = work.join(begins, on="caller").filter(pl.col("day") >= pl.col("first"))
    # Sessions and days do not add up: where sessions are seen, callers without them have no part.
    there = there.filter(pl.col("seen") | ~pl.col("seen").any().over("name"))
    by_caller = by_caller.join(there, on=["day", "name", "caller"], how="semi")
    own = by_caller.group_by("day", "name", "reason").agg(pl.sum("sessions", "groups"))
    at_work = there.group_by("day", "name").agg(pl.sum("exposure"), pl.col("seen").any(), pl.len().alias("callers"))
    for name, by_reason in sorted(units(own, at_work).items()):
        of_name = by_caller.filter(pl.col("name") == name)
        workers = there.filter(pl.col("name") == name)
        seen = bool(workers["seen"].any())
        for day in sorted({day for unit in by_reason.values() for day in unit.days}):
            rises, hits = [], {}
            for reason, unit in by_reason.items():
                rise = unit.look(day, alpha / _REASONS, alone=bool(over))
                hit, active = ([], 0) if rise is None else _hit(of_name, workers, reason, rise.first, day)
                if rise is not None and (
                    _of_one_caller(of_name, reason, rise.first, day)
                    or (what == "provider" and _of_one_model(models, name, reason, rise.first, day))
                ):
                    unit.excluded.add(day)  # the caller or the model is reported instead
                    rise = None
                if len(hit) < LEAST_CALLERS or 2 * len(hit) < active:
                    rise = None
                state = unit.settle(day, rise)
                if rise is not None:
                    rises.append((rise.tail.p_value * _REASONS, reason, rise, state))
                    explained.update(
                        (day, caller, reason)
                        for caller in workers.filter(pl.col("day") == date.fromordinal(day))["caller"]
                    )
                    hits[reason] = f"{len(hit)} of its {active} callers"
            if rises:
                p_value, reason, rise, state = min(rises, key=lambda each: each[:2])
                note = f"{_note(rise, day, over, seen=seen)}, most are {reason}, at {hits[reason]}"
                kind = "outage" if what == "provider" else "model_outage"
                yield _detection(kind, day, rise, state, min(1.0, p_value), scope=name, note=note)


def _hit(counts: pl.DataFrame, work: pl.DataFrame, reason: str, first: int, last: int) -> tuple[list[str], int]:
    """The callers with at least twice as many errors of a reason as in their days before, and how many were at work."""
    span = pl.col("day").is_between(date.fromordinal(first), date.fromordinal(last))
    before = pl.col("day").is_between(date.fromordinal(first - BASELINE_DAYS), date.fromordinal(first - 1))
    errors = counts.filter(pl.col("reason") == reason)
    sums = [
        frame.group_by("caller").agg(pl.col(column).filter(days).sum().alias(name))
        for frame, column, days, name in (
            (work, "exposure", span, "exposure"),
            (work, "exposure", before, "base"),
            (errors, "groups", span, "groups"),
            (errors, "groups", before, "base_groups"),
        )
    ]
    at_work = sums[0].filter(pl.col("exposure") > 0)
    rows = at_work.join(sums[1], on="caller", how="left")
    rows = rows.join(sums[2], on="caller", how="left").join(sums[3], on="caller", how="left").fill_null(0)
    expected = (pl.col("base_groups") + 0.5) / pl.col("base").clip(1.0) * pl.col("exposure")
    hit = rows.filter((pl.col("groups") > 0) & (pl.col("groups") >= DAY_RATIO * expected))
    return sorted(hit["caller"]), at_work.height


def _of_one_caller(counts: pl.DataFrame, reason: str, first: int, last: int) -> bool:
    """Whether nearly all errors of a span are one caller's: others may have one by chance."""
    span = pl.col("day").is_between(date.fromordinal(first), date.fromordinal(last)) & (pl.col("reason") == reason)
    sums = counts.filter(span).group_by("caller").agg(pl.sum("groups"))["groups"]
    return bool(sums.max() >= _ONES_OWN * sums.sum())  # type: ignore[operator]


def _of_one_model(models: pl.DataFrame, provider: str, reason: str, first: int, last: int) -> bool:
    """Whether nearly all errors of a span are those of one of a provider's several models."""
    own = models.filter(pl.col("provider") == provider)
    span = pl.col("day").is_between(date.fromordinal(first), date.fromordinal(last)) & (pl.col("reason") == reason)
    counts = own.filter(span).group_by("model").agg(pl.sum("groups")).sort("groups", descending=True)
    named = own.filter((pl.col("model") != "") & (pl.col("day") <= date.fromordinal(last)))["model"].n_unique()
    most = counts["groups"][0] >= _ONES_OWN * int(counts["groups"].sum())
    return bool(named > 1 and counts["model"][0] != "" and most)


def _budget(alpha: float, reason: str) -> float:
    return alpha if reason == ANY else alpha / _REASONS


def _note(rise: Rise, day: int, over: str, *, seen: bool) -> str:
    """The figures of a rise in words."""
    days = day - rise.first + 1
    over = over or ("on one day" if days == 1 else f"within {days} days")
    sessions = f"{min(rise.sessions, rise.exposure):,.0f} of {rise.exposure:,.0f}" if seen else f"{rise.sessions:,}"
    usual = f"{rise.tail.expected:,.1f} expected" + ("" if seen else " of so many days")
    return f"{rise.count:,} errors in {sessions} sessions {over}, {usual}"


def _most(rise: Rise, day: int, by_reason: dict[str, Unit]) -> str:
    """The reason that has most of the errors of a rise, where one has half of them."""
    counts = {
        reason: sum(unit.days[each].number for each in range(rise.first, day + 1) if each in unit.days)
        for reason, unit in by_reason.items()
        if reason != ANY
    }
    reason = max(counts, key=lambda each: (counts[each], each), default=ANY)
    return f", most are {reason}" if reason != ANY and 2 * counts[reason] >= rise.count else ""


def _detection(
    kind: str,
    day: int,
    rise: Rise,
    state: str,
    p_value: float,
    *,
    caller: str | None = None,
    scope: str | None = None,
    note: str,
) -> Detection:
    return Detection(
        day=date.fromordinal(day),
        caller=caller,
        finding=kind,
        state=state,
        onset=date.fromordinal(rise.first),
        observed=float(rise.count),
        expected=rise.tail.expected,
        low=0.0,
        high=rise.tail.high,
        p_value=p_value,
        statistic=rise.count / rise.tail.expected,
        sessions=rise.sessions,
        groups=rise.count,
        scope=scope,
        note=note,
    )
