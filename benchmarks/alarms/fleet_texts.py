"""The texts of the invented fleets' errors, by reason and by provider; `{n}`, `{id}`, `{word}` and `{model}` vary."""

from __future__ import annotations

from random import Random

Text = tuple[int | None, str]
"""The status, where there is one, and the template of the message."""

TEXTS: dict[str, dict[str, list[Text]]] = {
    "network_transient": {
        "anthropic": [
            (
                529,
                '{{"type":"error","error":{{"type":"overloaded_error","message":"Overloaded"}},"request_id":"req_{id}"}}',
            ),
            (
                500,
                '{{"type":"error","error":{{"type":"api_error","message":"Internal server error"}},"id":"{id}"}}',
            ),
        ],
        "openai": [
            (503, "The server is overloaded or not ready yet. (request {id})"),
            (500, "The server had an error while processing your request. Sorry about that! (request ID {id})"),
        ],
        "": [(502, "Bad gateway"), (504, "Gateway Time-out"), (503, "Service Unavailable: upstream {id} is draining")],
        "wire": [
            (None, "read ECONNRESET"),
            (None, "Error: socket hang up"),
            (None, "connect ETIMEDOUT 10.{n}.4.{n}:443"),
            (None, "getaddrinfo EAI_AGAIN api.{word}.example"),
            (None, "HTTPSConnectionPool(host='api.{word}.example', port=443): Read timed out. (read timeout={n})"),
        ],
    },
    "rate_limited": {
        "anthropic": [
            (
                429,
                "This request would exceed your account's rate limit of {n},000 input tokens per minute.",
            )
        ],
        "openai": [
            (
                429,
                "Rate limit reached for {model} in organization org-{id} on tokens per min: try again in {n}s.",
            )
        ],
        "": [(429, "Resource has been exhausted (e.g. check quota)."), (429, "Too Many Requests ({id})")],
    },
    "auth_error": {
        "anthropic": [
            (401, "invalid x-api-key"),
            (401, "OAuth token has expired. Please obtain a new token or refresh your existing token."),
        ],
        "openai": [(401, "Incorrect API key provided: sk-****{n}.")],
        "": [(403, "API key expired. Please renew the API key.")],
        "quota": [
            (429, "You exceeded your current quota, please check your plan and billing details."),
            (
                400,
                "Your credit balance is too low to access the API.",
            ),
        ],
    },
    "context_overflow": {
        "anthropic": [(400, "prompt is too long: 2{n}000 tokens > 200000 maximum")],
        "openai": [
            (
                400,
                "This model's maximum context length is 128000 tokens. Your messages resulted in 1{n}000 tokens.",
            )
        ],
        "": [(400, "The input token count (1{n}00000) exceeds the maximum number of tokens allowed (1048576).")],
    },
    "validation": {
        "": [
            (400, "Invalid value for 'temperature': expected a number between 0 and 2, got {n}."),
            (400, "messages.{n}: `tool_use` ids were found without `tool_result` blocks immediately after: toolu_{id}"),
            (422, "Input should be a valid string at body.messages.{n}.content"),
        ],
        "new": [
            (400, "Unknown parameter: 'reasoning_{word}'."),
            (400, "tools.{n}.custom.input_schema: JSON schema is invalid"),
        ],
    },
    "network_permanent": {
        "": [(404, "The model `{model}` does not exist or you do not have access to it.")],
    },
    "tool_not_found": {
        "": [
            (None, "No such tool available: {word}"),
            (None, "Method not found: tools/{word}"),
            (None, "bash: {word}: command not found"),
        ],
    },
}
_UNKNOWN = (
    "lattice {word} drifted from its keel after {n} turns",
    "refused to fold shard {n} of {word}: glyph mismatch",
    "planner produced no verdict for {word} (slot {n})",
    "quorum of {word} went stale at step {n}",
    "ledger {word} has two heads, {n} and {n}",
    "reviewer sent {word} back: tone",
    "plan ended early near {word}:{n}",
    "oracle of {word} says no",
)
TOOL_FAILURES = (
    ("exit_code", "Exit code {n}"),
    ("not_found", "File does not exist: src/{word}.py"),
    ("edit_mismatch", "String to replace not found in file {word}.ts"),
    ("timeout", "Command timed out after {n}s"),
    ("other", "{word}: unexpected token at line {n}"),
)
_SYLLABLES = (
    "bla",
    "dor",
    "fen",
    "gri",
    "hul",
    "jas",
    "kem",
    "lun",
    "mox",
    "nar",
    "pim",
    "quo",
    "rus",
    "sev",
    "tib",
    "wex",
)


def word(random: Random) -> str:
    """A made-up word."""
    return "".join(random.choices(_SYLLABLES, k=random.randint(2, 3)))


def unknown_template(random: Random) -> str:
    """A template of a message that no rule knows, distinct by its made-up words."""
    return f"{word(random)} {random.choice(_UNKNOWN)}, {word(random)} {word(random)}"


def filled(template: str, random: Random, model: str = "") -> str:
    """A message of the template."""
    return template.format(n=random.randint(2, 99), id=f"{random.getrandbits(40):010x}", word=word(random), model=model)


def of(reason: str, provider: str, random: Random, form: str = "") -> Text:
    """A text of a reason as a provider words it; `form` names a special list, such as `wire`, `quota` or `new`."""
    forms = TEXTS[reason]
    return random.choice(forms.get(form or provider) or forms[""])
