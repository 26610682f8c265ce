"""Foreign exceptions into facts, by the attributes that client libraries agree on; no client library is imported.

Invariant: reading has no effect on the exception. A body that nobody has read is looked at and left in place
(`responses`), only `str` and gRPC's two getters are called, and an attribute that raises counts as missing. Secrets
are redacted before anything is taken out of a text or a body.
"""

from __future__ import annotations

import errno
from collections.abc import Mapping

from analyzer.classifier.reading.bodies import read_body, read_output, read_text
from analyzer.classifier.reading.draft import Draft, integer, plain
from analyzer.classifier.reading.facts import MAX_CAUSES, Facts
from analyzer.classifier.reading.responses import attribute_of, body_of
from analyzer.redaction import redact, redact_value

_PROVIDERS = {
    "anthropic": "anthropic",
    "botocore": "aws",
    "cohere": "cohere",
    "google": "google",
    "groq": "groq",
    "mcp": "mcp",
    "mistralai": "mistral",
    "ollama": "ollama",
    "openai": "openai",
}
_FAMILIES = (TimeoutError, ConnectionError, PermissionError, KeyboardInterrupt)
# Attributes that mean the same as a key of an error body.
_STATUS = ("status_code", "status", "http_status", "code")
_OUTPUT = (("stdout", ("stdout", "output")), ("stderr", ("stderr",)))


def read(error: object, causes: int = MAX_CAUSES) -> Facts:
    """Return the facts of an exception, or of an object shaped like one,
    with at most `causes` causes.
    """
    return _read(error, causes, {id(error)})


def _read(error: object, causes: int, seen: set[int]) -> Facts:
    draft = Draft()
    root = str(getattr(type(error), "__module__", "")).split(".", 1)[0]
    _read_class(draft, error)
    for attribute in _STATUS:
        value = attribute_of(error, attribute)
        if value is None or callable(value) or issubclass(type(error), SystemExit):
            continue
        if attribute == "code":
            draft.take_code(value)
        else:
            draft.take_status(value)
    if root == "grpc":
        _read_grpc(draft, error)
    draft.take_type(attribute_of(error, "type"))
    _read_texts(draft, error)
    _read_response(draft, attribute_of(error, "response"))
    # urllib's HTTPError is its own response.
    if issubclass(type(error), OSError) and attribute_of(error, "fp") is not None:
        _read_content(draft, error)
    draft.take_headers(attribute_of(error, "headers"))
    for attribute in ("body", "error", "details"):
        value = attribute_of(error, attribute)
        if isinstance(value, (Mapping, list, str, bytes)):
            read_body(draft, redact_value(value))
        elif attribute == "error" and value is not None and not callable(value):
            _read_error_data(draft, value)
    draft.provider = _text_of(error, "llm_provider", "provider") or draft.provider or _PROVIDERS.get(root)
    draft.model = _text_of(error, "model") or draft.model
    read_output(draft)
    draft.cause = _next_cause(error, causes, seen)
    return draft.finish()


def _read_class(draft: Draft, error: object) -> None:
    """Read the class of an exception, its built-in base class,
    and the attributes of built-in exceptions.
    """
    cls = type(error)
    draft.exception_class = cls.__name__
    if issubclass(type(error), OSError):
        _read_os_error(draft, error)
    elif issubclass(type(error), SystemExit):
        draft.exit_code = integer(attribute_of(error, "code"))
    if cls.__module__ != "builtins":
        draft.type = next((family.__name__ for family in _FAMILIES if issubclass(cls, family)), None)


def _text_of(error: object, *names: str) -> str | None:
    for name in names:
        value = attribute_of(error, name)
        if isinstance(value, str) and value:
            return value
    return None


def _read_texts(draft: Draft, error: object) -> None:
    try:
        text = str(error)
    except Exception:  # noqa: BLE001  # a foreign __str__ may raise anything
        text = ""
    if type(error).__str__ is object.__str__:
        text = ""
    message = attribute_of(error, "message")
    for candidate in (text, plain(message)):
        if candidate and isinstance(candidate, str):
            read_text(draft, redact(candidate))
    for name, attributes in _OUTPUT:
        for attribute in attributes:
            output = plain(attribute_of(error, attribute))
            if output and getattr(draft, name) is None:
                setattr(draft, name, redact(output))
    for attribute in ("returncode", "exit_code"):
        value = attribute_of(error, attribute)
        if isinstance(value, int) and draft.exit_code is None:
            draft.exit_code = integer(value)


def _read_response(draft: Draft, response: object) -> None:
    """Read an HTTP response object, or botocore's parsed dict."""
    if response is None or callable(response):
        return
    if isinstance(response, Mapping):
        read_body(draft, redact_value(response))
        return
    for attribute in ("status_code", "status"):
        value = attribute_of(response, attribute)
        if value is not None and not callable(value):
            draft.take_status(value)
    draft.take_headers(attribute_of(response, "headers"))
    _read_content(draft, response)


def _read_content(draft: Draft, response: object) -> None:
    content = body_of(response)
    if content:
        read_body(draft, redact_value(content))


def _read_error_data(draft: Draft, data: object) -> None:
    """Read the error object inside an exception, such as MCP's `McpError.error`: code, message, data."""
    code = attribute_of(data, "code")
    if code is not None and not callable(code):
        draft.take_code(code)
    draft.take_type(attribute_of(data, "type"))
    message = plain(attribute_of(data, "message"))
    if message:
        read_text(draft, redact(message))


def _read_os_error(draft: Draft, error: object) -> None:
    number = attribute_of(error, "errno")
    if not isinstance(number, int):
        return
    # getaddrinfo has codes of its own, negative on Linux; the others are errno numbers of this machine.
    name = _address_error(number) if type(error).__name__ in ("gaierror", "herror") else errno.errorcode.get(number)
    if name is not None:
        draft.code = name


def _address_error(number: int) -> str | None:
    import socket  # only loaded when somebody who has it loaded failed with it

    for name in ("EAI_AGAIN", "EAI_NONAME", "EAI_NODATA", "EAI_FAIL"):
        if getattr(socket, name, None) == number:
            return name
    return None


def _read_grpc(draft: Draft, error: object) -> None:
    """Read status and text of a gRPC error from its two getters."""
    for method, take in (
        ("code", draft.take_type),
        ("details", lambda text: read_text(draft, redact(str(text or "")))),
    ):
        function = attribute_of(error, method)
        if not callable(function):
            continue
        try:
            value = function()
        except Exception:  # noqa: BLE001  # a foreign method
            value = None
        name = attribute_of(value, "name")
        take(name if isinstance(name, str) else value)


def _next_cause(error: object, causes: int, seen: set[int]) -> Facts | None:
    """Read the exception that this one was raised from; of a group, its first member."""
    if causes <= 0:
        return None
    candidate = attribute_of(error, "__cause__")
    if candidate is None and not attribute_of(error, "__suppress_context__"):
        candidate = attribute_of(error, "__context__")
    if candidate is None:
        for name in ("os_error", "original_exception", "original_error", "cause"):
            candidate = attribute_of(error, name)
            if issubclass(type(candidate), BaseException):
                break
            candidate = None
    if candidate is None:
        members = attribute_of(error, "exceptions")
        candidate = members[0] if isinstance(members, (list, tuple)) and members else None
    if not issubclass(type(candidate), BaseException) or id(candidate) in seen:
        return None
    seen.add(id(candidate))
    return _read(candidate, causes - 1, seen)
