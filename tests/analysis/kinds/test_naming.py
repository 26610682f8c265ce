"""Whose a rise of errors is."""

from __future__ import annotations

import polars as pl
import pytest

from analyzer.analysis.kinds.statistics.naming import Names, Suspect

CALLERS = {
    # caller: provider, model, host, project
    "api": ("anthropic", "opus", "node-0", "shop"),
    "batch": ("anthropic", "opus", "node-1", "shop"),
    "chat": ("anthropic", "haiku", "node-1", "help"),
    "docs": ("openai", "gpt", "node-0", "help"),
    "eval": ("openai", "gpt", "node-1", "lab"),
    "form": ("openai", "gpt", "node-0", "lab"),
}
CHANGE = 30


def named(
    more: dict[str, int], found: tuple[str, str], reason: str = "network_transient", names: Names | None = None
) -> Suspect | None:
    """Whose so many errors are on the day of the change, where each caller has one in five of twenty sessions a day."""
    return (names or known(more, reason)).of(*found, reason, CHANGE, CHANGE + 1, CHANGE)


def known(more: dict[str, int], reason: str, on: int = CHANGE) -> Names:
    """The errors of all days, one in each fifth, and those of the change."""
    rows = [
        (day, caller, *shared, reason, count, count)
        for day in range(CHANGE + 2)
        for caller, shared in CALLERS.items()
        if (count := (day % 5 == 0) + (more.get(caller, 0) if day >= on else 0))
    ]
    columns = ("slot", "caller", "provider", "model", "host", "project", "reason", "sessions", "groups")
    work = [(day, caller, 20.0) for day in range(CHANGE + 2) for caller in CALLERS]
    return Names(
        pl.DataFrame(rows, columns, orient="row"), pl.DataFrame(work, ("slot", "caller", "exposure"), orient="row"), 1
    )


@pytest.mark.parametrize(
    ("more", "found", "told"),
    [
        (dict.fromkeys(("docs", "eval", "form"), 8), ("fleet", "fleet"), ("provider", "openai")),
        (dict.fromkeys(("api", "docs", "form"), 8), ("provider", "openai"), ("host", "node-0")),
        (dict.fromkeys(("api", "batch"), 8), ("provider", "anthropic"), ("model", "opus")),
        ({"eval": 12}, ("provider", "openai"), ("caller", "eval")),
        (dict.fromkeys(CALLERS, 8), ("provider", "openai"), ("fleet", "fleet")),
    ],
)
def test_a_rise_is_told_of_the_name_that_explains_it(
    more: dict[str, int], found: tuple[str, str], told: tuple[str, str]
) -> None:
    """Whoever the test counted; its figures are those of that name."""
    one = named(more, found)
    assert one is not None
    assert (one.dimension, one.name) == told
    assert one.sessions == sum(more.values()) + len(more)
    assert one.callers == len(more)
    assert 0 < one.expected < one.sessions / 2
    assert named(more, told) is None, "there is nothing to say where it was found of that name"


def test_what_is_asked_is_the_doing_of_who_asks() -> None:
    """The same errors are a model's if they are failures of it, and a project's if the requests were refused."""
    more = dict.fromkeys(("api", "batch"), 8)
    for reason, what in (("network_transient", "model"), ("validation", "project"), ("auth_error", "project")):
        one = named(more, ("fleet", "fleet"), reason)
        assert one is not None
        assert one.dimension == what, reason


def test_a_rise_keeps_the_name_of_its_first_day() -> None:
    """Unless it has no error of it any more."""
    names = known({"eval": 12}, "auth_error")
    for at in (CHANGE, CHANGE + 1):
        one = names.of("provider", "openai", "auth_error", at, at + 1, at)
        assert one is not None
        assert (one.dimension, one.name) == ("caller", "eval")
    gone = names.of("provider", "openai", "auth_error", CHANGE + 2, CHANGE + 3, CHANGE)
    assert gone is None


def test_callers_whose_sessions_no_log_shows_are_as_busy_as_others() -> None:
    """That nothing is known of their work makes them no suspects."""
    more = dict.fromkeys(("docs", "eval", "form"), 8)
    names = known(more, "network_transient")
    names._work = names._work.filter(pl.col("caller") != "eval")
    one = names.of("fleet", "fleet", "network_transient", CHANGE, CHANGE + 1, CHANGE)
    assert one is not None
    assert (one.dimension, one.name) == ("provider", "openai")


def test_callers_whose_sessions_no_log_shows_are_expected_to_do_what_they_did() -> None:
    """However many there are, beside few whose sessions are seen: their errors are no rate of these sessions."""
    names = known(dict.fromkeys(("docs", "eval", "form"), 8), "network_transient")
    names._work = names._work.filter(pl.col("caller") == "api")
    one = names.of("fleet", "fleet", "network_transient", CHANGE, CHANGE + 1, CHANGE)
    assert one is not None
    assert one.name == "openai"
    assert one.expected == pytest.approx(3 * (6 + 0.5) / CHANGE)
    assert not one.unseen


@pytest.mark.parametrize(("own", "other"), [(2, 20), (2, 30), (3, 30)])
def test_a_rise_is_of_nobody_who_is_no_part_of_it(own: int, other: int) -> None:
    """A caller of another provider whose rise on that day is clearer has one of its own."""
    one = named({**dict.fromkeys(("docs", "eval", "form"), own), "api": other}, ("provider", "openai"))
    assert one is not None
    assert (one.dimension, one.name) != ("caller", "api")
