"""A finding in plain words: one sentence that says what, how much, where and since when; and what to do next."""

from __future__ import annotations

from analyzer.analysis.findings import Finding

_SHARES = frozenset(("spike", "drift"))
_ADVICE = {
    "spike": "analyzer unknowns --suggest",
    "drift": "analyzer unknowns --suggest",
    "template": "analyzer unknowns --suggest",
    "wording": "analyzer unknowns --suggest",
    "burst": "look at the session; it is no change of the classifier's world",
    "reason_mix": "analyzer query errors-by-caller",
    "relay_frequency": "analyzer query relays-by-step; split steps that relay often",
    "retry_payoff": "analyzer query retries-outcomes",
}


def sentence(found: Finding, messages: tuple[str, ...] = ()) -> str:
    """What happened. `messages` are samples of it, the most frequent one first."""
    latest = found.latest
    who = found.scope.caller or "the fleet"
    if found.finding in _SHARES:
        said = f"{who}: {_share(latest.observed)} of its distinct errors on {latest.day} are unknown, {_band(found)}"
        said += f", in {_sessions(found)}"
        said += f", since {found.onset}" if found.onset < found.last_on else ""
    elif found.finding == "template":
        said = f"{who}: an unknown message that it did not have before, in {_sessions(found)}, {_since(found)}"
    elif latest.note:
        said = f"{who}: {latest.note.rstrip('.')}, {_since(found)}"
    else:
        said = f"{who}: {_number(latest.observed)} where {_number(latest.expected)} was expected, {_since(found)}"
    if messages and found.finding in {*_SHARES, "template", "wording"}:
        said += f"; most often “{_short(messages[0])}”"
    return f"{said}."


def advice(found: Finding) -> str:
    """What to do next."""
    if found.state == "resolved":
        return ""
    return _ADVICE.get(found.finding, "")


def _share(value: float | None) -> str:
    return "–" if value is None else f"{100 * value:.0f}%"


def _band(found: Finding) -> str:
    latest = found.latest
    if latest.expected is None:
        return "without a history to compare with"
    if latest.low is None or latest.high is None:
        return f"{_share(latest.expected)} expected"
    return f"{_share(latest.expected)} expected ({_share(latest.low)} to {_share(latest.high)})"


def _sessions(found: Finding) -> str:
    count = found.latest.sessions or 0
    return f"{count:,} session" + ("" if count == 1 else "s")


def _since(found: Finding) -> str:
    return f"since {found.onset}" if found.onset < found.last_on else f"on {found.onset}"


def _number(value: float | None) -> str:
    return "–" if value is None else f"{value:,.2f}".rstrip("0").rstrip(".")


def _short(text: str, limit: int = 120) -> str:
    flat = " ".join(text.split())
    return flat if len(flat) <= limit else f"{flat[: limit - 1]}…"
