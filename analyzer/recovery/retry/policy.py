"""The retry policy of one caller: the recovery table, with the settings of the caller.

Invariant: the classifier's recovery table decides which reasons are tried again; a policy only bounds and silences.

The module also has the backoff, the care with weak evidence, the iteration budget, and the advice for a person when an
error surfaces: which credential of which provider, how it is renewed, or which URL. The advice quotes only text that
the classifier has redacted.
"""

from __future__ import annotations

import random
import threading
from collections.abc import Mapping
from dataclasses import field
from types import MappingProxyType
from typing import TYPE_CHECKING, NamedTuple

from analyzer.classifier.recovery_table import REASONS, RECOVERY
from analyzer.errors import AnalyzerError
from analyzer.frozen import frozen
from analyzer.readable import cut

if TYPE_CHECKING:
    from analyzer.classifier import Classification


@frozen
class Backoff:
    """`min(cap, base · factorⁿ) · (1 ± jitter)` seconds before the retry after attempt n, counted from 0.

    The jitter is applied after the cap, so that callers that reached the cap together do not come back together.
    """

    base_seconds: float = 0.1
    factor: float = 2.0
    cap_seconds: float = 30.0
    jitter: float = 0.2
    """Half the width of the band, as a share: 0.2 is ±20 %."""

    def __post_init__(self) -> None:
        sound = self.base_seconds >= 0 and self.factor >= 1 and self.cap_seconds >= 0 and 0 <= self.jitter <= 1
        if not sound:
            raise AnalyzerError(
                f"no such backoff: {self}", "base_seconds and cap_seconds from 0, factor from 1, jitter from 0 to 1."
            )

    def delay_seconds(self, attempt: int, rng: random.Random | None = None) -> float:
        """Return the seconds to wait after failed attempt `attempt`, 0-based."""
        try:
            delay = self.base_seconds * self.factor ** max(0, attempt)
        except OverflowError:
            delay = self.cap_seconds
        draw = (rng or random).uniform(-self.jitter, self.jitter)
        return min(self.cap_seconds, delay) * (1 + draw)


_CALLS_WITH_HELP = {"tool_not_found": 2}
"""Calls in all, if the caller mends the cause in between; the table allows one."""


@frozen
class Policy:
    """The settings of a retry loop. The defaults are the recovery table."""

    backoff: Backoff = field(default_factory=Backoff)
    max_attempts: Mapping[str, int] = field(default_factory=dict)
    """Calls in all by reason, the first included, if they differ from the table's."""
    max_wait_seconds: float = 3600.0
    """The longest wait for a limit; a limit that holds longer surfaces."""
    wait_when_blocked: bool = False
    """True to wait before the first call while the guard refuses, instead of raising at once."""
    silent: bool = False
    """True to classify and log, but neither try again nor raise: for calls that nobody would miss."""

    def __post_init__(self) -> None:
        for reason, calls in self.max_attempts.items():
            if reason not in RECOVERY:
                raise AnalyzerError.unknown_value("reason", reason, REASONS)
            if calls < 1:
                raise AnalyzerError(f"{reason} cannot have {calls} attempts", "The first call counts: give 1 or more.")
            if calls > 1 and not RECOVERY[reason].retryable and reason not in _CALLS_WITH_HELP:
                raise AnalyzerError(
                    f"{reason} is not tried again", "A retry fails the same way; see the recovery table."
                )

    def attempts_for(self, reason: str, *, helped: bool = False, most: int | None = None) -> int:
        """Return how many failures with this reason end a chain.

        `helped` says that the caller mends the cause in between; `most` bounds the table's number, not the caller's.
        """
        standard = max(_CALLS_WITH_HELP.get(reason, 1) if helped else 1, RECOVERY[reason].max_attempts)
        return self.max_attempts.get(reason, standard if most is None else min(standard, most))


PROFILES: Mapping[str, Policy] = MappingProxyType(
    {
        "pre_spawn": Policy(),
        "probe": Policy(wait_when_blocked=True),
        "fetch": Policy(wait_when_blocked=True),
        "silent": Policy(silent=True),
        "transport": Policy(),
    }
)
"""Policies of typical callers. `pre_spawn`: a gate before an agent is started; refuses at once while a limit holds.
`probe`: a live call that tests a connection; `fetch`: a feed; both wait for a limit. `silent`: an update check.
`transport`: tool calls; pass `reprobe`, so that a missing tool is looked for again and called once more."""


DEFAULT_LIMIT = 50
_QUOTED_CHARS = 200


class IterationBudgetExhaustedError(AnalyzerError):
    """A retry for which no iteration is left."""

    def __init__(self, limit: int, consumed: int, refunded: int) -> None:
        super().__init__(
            f"the iteration budget of {limit} is used up: {consumed} consumed, {refunded} refunded",
            "The retries have become a cycle; look at what fails before you give them more.",
        )
        self.limit = limit
        self.consumed = consumed
        self.refunded = refunded

    def __reduce__(self) -> tuple[type[IterationBudgetExhaustedError], tuple[int, int, int]]:
        """Copy and pickle by the figures, not by the message."""
        return type(self), (self.limit, self.consumed, self.refunded)


class IterationBudget:
    """Iterations that the retries of one task share. Safe between threads; belongs to one process."""

    def __init__(self, limit: int = DEFAULT_LIMIT) -> None:
        if limit < 0:
            raise AnalyzerError(f"no such iteration budget: {limit}", "Give a number from 0.")
        self.limit = limit
        self._consumed = 0
        self._refunded = 0
        self._lock = threading.Lock()

    @property
    def consumed(self) -> int:
        """Return the iterations taken so far."""
        return self._consumed

    @property
    def refunded(self) -> int:
        """Return the iterations given back so far."""
        return self._refunded

    @property
    def remaining(self) -> int:
        """Return the iterations that can still be taken."""
        return self.limit - self._consumed + self._refunded

    def consume(self, count: int = 1) -> int:
        """Take iterations before the work that they pay for; return how many remain.

        Raises:
            IterationBudgetExhaustedError: fewer than `count` remain; nothing is taken.
        """
        with self._lock:
            if count > self.remaining:
                raise IterationBudgetExhaustedError(self.limit, self._consumed, self._refunded)
            self._consumed += count
            return self.remaining

    def refund(self, count: int = 1) -> int:
        """Give iterations back because a cache answered, at most those taken.

        Return how many remain.
        """
        with self._lock:
            self._refunded += min(count, self._consumed - self._refunded)
            return self.remaining


CAREFUL_CALLS = 2
"""Calls in all on weak words, or against them:
the call after the wait shows whether they were right.
"""
_LATER = 3
"""Steps of the backoff that a careful first wait skips:
with a factor of two it is eight times as long.
"""


class Care(NamedTuple):
    """The part of the recovery table that a verdict's evidence allows."""

    most_calls: int | None = None
    """Calls in all; None for as many as the table says."""
    skipped_steps: int = 0
    """Steps by which the backoff begins later."""
    against: str | None = None
    """The rule of strong evidence against another try, if there is one."""


def care_of(verdict: Classification) -> Care:
    """Return the care that a verdict asks for.

    Weak words allow two calls, with a longer wait between them, and so does a bare status whose body speaks of
    something that is not tried again. If the body names that by a rule's own words, code or type, nothing is tried,
    unless there is something to wait for or to compress.
    """
    if verdict.confidence != "weak" or not verdict.retryable:
        return Care()
    against, worded = verdict.objections
    if against is not None and verdict.reason == "network_transient":
        return Care(1, 0, against)
    if against is not None or worded or verdict.evidence == "text":
        return Care(CAREFUL_CALLS, _LATER, against)
    return Care()


@frozen
class Credential:
    """The variable of a provider's credential, and how it is renewed."""

    variable: str
    """The environment variable that programs read it from."""
    renew: str
    """A URL where another key is made, or a command."""
    sign_in: str | None = None
    """The command or URL that renews a login without a key (OAuth), if there is one."""


CREDENTIALS: Mapping[str, Credential] = MappingProxyType(
    {
        "anthropic": Credential("ANTHROPIC_API_KEY", "https://console.anthropic.com/settings/keys", "claude /login"),
        "aws": Credential("AWS_PROFILE", "aws sso login"),
        "cohere": Credential("CO_API_KEY", "https://dashboard.cohere.com/api-keys"),
        "figma": Credential("FIGMA_API_KEY", "https://www.figma.com/settings"),
        "github": Credential("GITHUB_TOKEN", "https://github.com/settings/tokens", "gh auth login"),
        "google": Credential("GEMINI_API_KEY", "https://aistudio.google.com/apikey", "gcloud auth login"),
        "groq": Credential("GROQ_API_KEY", "https://console.groq.com/keys"),
        "mistral": Credential("MISTRAL_API_KEY", "https://console.mistral.ai/api-keys"),
        "openai": Credential("OPENAI_API_KEY", "https://platform.openai.com/api-keys", "codex login"),
        "openrouter": Credential("OPENROUTER_API_KEY", "https://openrouter.ai/settings/keys"),
    }
)
"""Credentials by provider, as the classifier names it."""

_PROVIDERS: Mapping[str, str] = MappingProxyType(
    {"claude": "anthropic", "claude-code": "anthropic", "codex": "openai", "gemini": "google", "gh": "github"}
)
"""The provider whose credential an agent's command uses by default."""


def provider_of(name: str | None) -> str | None:
    """Return the provider of a name that may be an agent's; None for an unknown one."""
    provider = _PROVIDERS.get(name or "", name)
    return provider if provider in CREDENTIALS else None


def advice(
    verdict: Classification,
    *,
    caller: str,
    provider: str | None = None,
    credential: Credential | None = None,
    error: BaseException | None = None,
    outcome: str = "surfaced",
    attempts: int = 1,
) -> str:
    """Return one or two sentences for the person at the end of the chain,
    with names instead of generalities.
    """
    provider = provider or verdict.provider
    credential = credential or CREDENTIALS.get(provider or "")
    whose = provider or "the provider"
    quoted = quoted_message(verdict)
    if verdict.reason == "auth_error":
        return f"{caller}: {auth_advice(verdict, provider, credential)}{quoted}"
    if verdict.reason == "rate_limited":
        from analyzer.events.times import format_time

        until = f" until {format_time(verdict.reset_at)}" if verdict.reset_at else ""
        return f"{caller}: {whose} is rate limited{until}; gave up after {calls(attempts)}{quoted}"
    if verdict.reason == "context_overflow":
        size = f" ({verdict.current_tokens} of {verdict.max_tokens} tokens)" if verdict.max_tokens else ""
        tried = " again after it was compressed; more compression would destroy information" if attempts > 1 else ""
        return (
            f"{caller}: the conversation does not fit{size}{tried}. Start a fresh one, or hand over a summary{quoted}"
        )
    if verdict.reason in ("network_transient", "network_permanent"):
        gave_up = f"; gave up after {calls(attempts)}" if outcome == "exhausted" else ""
        return (
            f"{caller}: cannot reach {_endpoint(error) or whose}{gave_up}. Check the URL, DNS and certificate{quoted}"
        )
    if verdict.reason == "tool_not_found":
        return f"{caller}: the tool does not exist there. Was it renamed, is its server registered?{quoted}"
    if verdict.detail in ("max_turns", "max_budget"):
        return f"{caller}: {verdict.remediation}"
    if verdict.reason == "validation":
        return f"{caller}: {whose} refuses the request as it is; change it before it is sent again{quoted}"
    return f"{caller}: failed for a reason that no rule knows; it was not tried again{quoted}"


def auth_advice(verdict: Classification, provider: str | None, credential: Credential | None = None) -> str:
    """Say which credential of which provider must be renewed,
    and how: its variable, its page, its login.
    """
    whose = provider or verdict.provider or "the provider"
    credential = credential or CREDENTIALS.get(whose)
    kept = f" in {credential.variable}" if credential else ""
    page = f" ({credential.renew})" if credential else ""
    if verdict.detail in ("billing", "hard_quota"):
        return f"the account at {whose}{kept} has no credit or quota left{page}; waiting does not help"
    sign_in = f", or log in again ({credential.sign_in})" if credential and credential.sign_in else ""
    if credential is None:
        sign_in = ": another key in its environment variable, or another login"
    if verdict.detail == "permission" or verdict.facts.status == 403:
        return f"the credential{kept} may not do this at {whose}; grant it or use another{page}{sign_in}"
    if verdict.detail == "missing_key":
        variable = credential.variable if credential else "its environment variable"
        return f"there is no credential for {whose}; set {variable}{page}{sign_in if credential else ', or log in'}"
    return f"{whose} refused the credential{kept}; renew it{page}{sign_in}"


def quoted_message(verdict: Classification) -> str:
    """Return the first line of the error's message, redacted, after a colon.

    A full stop without one.
    """
    message = (verdict.facts.message or "").strip()
    return f": {cut(message.splitlines()[0], _QUOTED_CHARS)}" if message else "."


def calls(attempts: int) -> str:
    """Return a number of calls in words: `one call`, `3 calls`."""
    return "one call" if attempts == 1 else f"{attempts} calls"


def _endpoint(error: BaseException | None) -> str | None:
    """Return scheme, host and path of the request in an HTTP client's exception.

    No query, no password.
    """
    from urllib.parse import urlsplit

    try:
        parts = urlsplit(str(error.request.url))  # type: ignore[union-attr]  # clients agree on it; without one, no name
        host = f"{parts.hostname}:{parts.port}" if parts.port else parts.hostname
        return f"{parts.scheme}://{host}{parts.path}" if parts.scheme and parts.hostname else None
    except Exception:  # noqa: BLE001 - a foreign object, and httpx raises RuntimeError without a request
        return None
