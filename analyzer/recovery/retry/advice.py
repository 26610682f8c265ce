"""What a person has to know when an error surfaces: which credential, which provider, how it is renewed, or which URL.

Invariant: texts come out redacted; nothing here quotes what the classifier has not cleaned.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from urllib.parse import urlsplit

from analyzer.classifier import Classification
from analyzer.events.times import format_time

_QUOTED_CHARS = 200


@dataclass(frozen=True, slots=True)
class Credential:
    """Where a provider's credential is kept and how it is renewed."""

    variable: str
    """The environment variable that programs read it from."""
    renew: str
    """A URL where another key is made, or a command."""
    sign_in: str | None = None
    """The command or URL that renews a login without a key (OAuth), where there is one."""


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
"""By provider, as the classifier names it."""

_PROVIDERS: Mapping[str, str] = MappingProxyType(
    {"claude": "anthropic", "claude-code": "anthropic", "codex": "openai", "gemini": "google", "gh": "github"}
)
"""Whose credential an agent's command uses, where nobody says another."""


def provider_of(name: str | None) -> str | None:
    """The provider behind a name that may be an agent's; None where nobody knows one by it."""
    known = _PROVIDERS.get(name or "", name)
    return known if known in CREDENTIALS else None


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
    """One or two sentences for the person at the end of the chain, with names instead of generalities."""
    provider = provider or verdict.provider
    credential = credential or CREDENTIALS.get(provider or "")
    whose = provider or "the provider"
    quoted = said(verdict)
    if verdict.reason == "auth_error":
        return f"{caller}: {auth_advice(verdict, provider, credential)}{quoted}"
    if verdict.reason == "rate_limited":
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
    """Which credential of which provider has to be renewed, and how: its variable, its page, its login."""
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


def said(verdict: Classification) -> str:
    """The first line of the error's message, redacted, behind a colon."""
    message = (verdict.facts.message or "").strip()
    first = message.splitlines()[0] if message else ""
    if len(first) > _QUOTED_CHARS:
        first = first[: _QUOTED_CHARS - 1] + "…"
    return f": {first}" if first else "."


def calls(attempts: int) -> str:
    """A number of calls in words: `one call`, `3 calls`."""
    return "one call" if attempts == 1 else f"{attempts} calls"


def _endpoint(error: BaseException | None) -> str | None:
    """Scheme, host and path of the request that an exception of an HTTP client carries; no query, no password."""
    try:
        parts = urlsplit(str(error.request.url))  # type: ignore[union-attr]  # clients agree on it; without one, no name
        host = f"{parts.hostname}:{parts.port}" if parts.port else parts.hostname
        return f"{parts.scheme}://{host}{parts.path}" if parts.scheme and parts.hostname else None
    except Exception:  # noqa: BLE001 - a foreign object, and httpx raises RuntimeError where no request is set
        return None
