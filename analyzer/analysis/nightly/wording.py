"""A finding in plain words: one sentence that says what, how much, where and since when; and what to do next."""

from __future__ import annotations

from collections.abc import Callable

from analyzer.analysis.nightly.findings import Finding

_SHARES = frozenset(("spike", "drift"))
_QUOTING = frozenset((*_SHARES, "template", "burst", "wording_changed"))
_ADVICE = {
    "spike": "analyzer unknowns --suggest",
    "drift": "analyzer unknowns --suggest",
    "template": "analyzer unknowns --suggest",
    "burst": "look at that session; one session is no change of the world",
    "reasons": "analyzer query errors-by-reason-caller-outcome",
    "relays": "analyzer query relays-by-step; split steps that hand off often",
    "recovery_fell": "analyzer query retries-outcomes; wait longer between calls, or ask the provider",
    "retry_in_vain": "stop retrying it: the waits buy nothing",
    "retry_would_pay": "let it be retried; the recovery table allows it",
    "wording_changed": "analyzer unknowns --suggest",
    "classifier_changed": "analyzer query ruleset-drift",
}


def sentence(found: Finding, messages: tuple[str, ...] = ()) -> str:
    """What happened. `messages` are samples of it, the most frequent one first."""
    said = f"{found.scope.who}: {_SAID.get(found.finding, _noted)(found)}"
    if messages and found.finding in _QUOTING:
        said += f"; most often “{_short(messages[0])}”"
    return f"{said}."


def advice(found: Finding) -> str:
    """What to do next."""
    if found.state == "resolved":
        return ""
    return _ADVICE.get(found.finding, "")


def _rise(found: Finding) -> str:
    latest = found.latest
    said = f"{_share(latest.observed)} of its distinct errors on {latest.day} are unknown, {_band(found)}"
    return f"{said}, in {_sessions(found)}" + (f", since {found.onset}" if found.onset < found.last_on else "")


def _template(found: Finding) -> str:
    return f"an unknown message that it did not have before, in {_sessions(found)}, {_since(found)}"


def _reasons(found: Finding) -> str:
    return f"under one and the same rules {found.latest.note}, in the week up to {found.last_on}"


def _relays(found: Finding) -> str:
    latest = found.latest
    step = f" in step {found.scope.step}" if found.scope.step else ""
    said = f"{_number(latest.observed)} hand-offs{step} on {latest.day}, {_number(latest.expected)} expected"
    return f"{said} (at most {_number(latest.high)}), in {_sessions(found)}"


def _recovery(found: Finding) -> str:
    latest = found.latest
    said = f"{_share(latest.observed)} of {latest.groups or 0:,} retry chains for {found.scope.reason} recovered"
    return f"{said} in the week up to {latest.day}, {_band(found)}"


def _in_vain(found: Finding) -> str:
    latest = found.latest
    said = f"retries for {found.scope.reason} recover {_share(latest.observed)} of {latest.groups or 0:,} chains"
    return f"{said} (surely less than {_share(latest.high)})"


def _would_pay(found: Finding) -> str:
    latest = found.latest
    said = f"{latest.groups or 0:,} errors {found.scope.reason} were not retried in the week up to {latest.day}"
    return f"{said}, though {_share(latest.observed)} of those that are recover (surely more than {_share(latest.low)})"


def _noted(found: Finding) -> str:
    return f"{(found.latest.note or '').rstrip('.')}, {_since(found)}"


_SAID: dict[str, Callable[[Finding], str]] = {
    "spike": _rise,
    "drift": _rise,
    "template": _template,
    "reasons": _reasons,
    "relays": _relays,
    "recovery_fell": _recovery,
    "retry_in_vain": _in_vain,
    "retry_would_pay": _would_pay,
}


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
    return "–" if value is None else f"{value:,.1f}".rstrip("0").rstrip(".")


def _short(text: str, limit: int = 120) -> str:
    flat = " ".join(text.split())
    return flat if len(flat) <= limit else f"{flat[: limit - 1]}…"
