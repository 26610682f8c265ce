"""Watching the calls of an SDK's client: each attempt of its own retries is logged as part of a chain.

Clients of OpenAI, Anthropic and others of the same generator (Stainless) have one method `request` around their retries
and send each attempt by `send` of their httpx client. Both are wrapped on these objects. Nothing is imported for it,
and no error of this module reaches the program.
"""

from __future__ import annotations

import functools
import inspect
import os
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import aclosing, closing, contextmanager, suppress
from contextvars import ContextVar
from typing import Any, TypeVar

from analyzer.classifier import classify
from analyzer.events import EventLog
from analyzer.recovery.retry.chain import Chain, within
from analyzer.recovery.waiting import BLOCKING, ON_LOOP, finish

T = TypeVar("T")

_RETRIED = frozenset((408, 409, 429))
"""Statuses below 500 that these SDKs retry,
if a client cannot be asked (anthropic 2.14.0, openai 3.57.0).
"""
_BODY_SECONDS, _BODY_BYTES = 0.05, 65_536
"""The bounds for reading a streamed error that is tried again; the SDK itself then waits for 0.375 s or longer."""
_MARK = "analyzer_observes"
_present: ContextVar[_Call | None] = ContextVar("analyzer_observed_call", default=None)


def observe(
    client: T,
    caller: str,
    *,
    log: EventLog | str | os.PathLike[str] = "telemetry",
    session: str | Callable[[], str | None] | None = None,
    provider: str | None = None,
) -> T:
    """Watch a client of the OpenAI or Anthropic SDK, sync or async, and its copies (`with_options`); return it.

    Each attempt that fails becomes an `error.classified`, by its status, headers and body or the connection's error;
    further attempts make it a chain, with `retry.scheduled` and `retry.settled`. `log` is a log or its folder,
    `session` an id or a function that returns it. `provider` defaults to the SDK's maker for its own servers. It never
    raises: a client that cannot be watched is left as it is, with a line on stderr.
    """
    try:
        if _MARK not in vars(client):
            _Watch(client, caller, log if isinstance(log, EventLog) else EventLog(log), session, provider).over(client)
    except Exception as error:  # noqa: BLE001 - telemetry must never break the program that it watches
        what = f"{type(client).__name__} cannot be watched: {type(error).__name__}"
        with suppress(Exception):  # a closed stderr is no reason to fail either
            print(f"analyzer: {what}: {error}", file=sys.stderr)  # noqa: T201
    return client


class _Watch:
    """The caller and the log, shared by all calls of one client and its copies."""

    def __init__(
        self,
        client: Any,
        caller: str,
        log: EventLog,
        session: str | Callable[[], str | None] | None,
        provider: str | None,
    ) -> None:
        self.caller, self.log, self._session = caller, log, session
        maker = type(client).__module__.partition(".")[0]
        self.provider = provider or (maker if str(client.base_url.host).endswith(f".{maker}.com") else None)

    def session(self) -> str | None:
        """Return the session of the present call."""
        return self._session() if callable(self._session) else self._session

    def over(self, client: Any) -> None:
        """Wrap a client's calls and those of its copies, and the sending of its attempts.

        Raises:
            AttributeError: it is no such client.
        """
        request, copy, http = client.request, client.copy, client._client
        send = http.send

        @functools.wraps(copy)
        def copied(*args: Any, **kwargs: Any) -> Any:
            made = copy(*args, **kwargs)
            _quietly(self.over, made)
            return made

        if _MARK not in vars(http):
            setattr(http, _MARK, True)
            http.send = _sending(send)
        setattr(client, _MARK, True)
        client.request = within(functools.partial(self._calling, client), request)
        client.copy = client.with_options = copied

    @contextmanager
    def _calling(self, client: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Iterator[None]:
        call, before = _quietly(_Call, self, client, args, kwargs), _present.get()
        _present.set(call)
        try:
            yield
        except BaseException as error:
            if call is not None:
                _quietly(call.ends, error)
            raise
        else:
            if call is not None:
                _quietly(call.ends, None)
        finally:
            _present.set(before)


def _sending(send: Callable[..., Any]) -> Callable[..., Any]:
    runner = ON_LOOP if inspect.iscoroutinefunction(send) else BLOCKING

    async def send_watched(*args: Any, **kwargs: Any) -> Any:
        if (call := _present.get()) is None:
            return await runner.result(send(*args, **kwargs))
        with call.attempt() as answered:
            response = await runner.result(send(*args, **kwargs))
            if _is_error(response) and not response.is_closed:  # a streamed call, whose body has the error
                is_tried_again = call.is_tried_again(response)
                if runner.is_async:
                    await (_read_some_async(response) if is_tried_again else response.aread())
                elif is_tried_again:
                    _read_some(response)
                else:
                    response.read()  # as the SDK itself does next
            answered(response)
        return response

    @functools.wraps(send)
    def sent(*args: Any, **kwargs: Any) -> Any:
        work = send_watched(*args, **kwargs)
        return work if runner.is_async else finish(work)

    return sent


def _read_some(response: Any) -> None:
    """Keep the part of a body that comes at once:
    the SDK would close it unread, and must not be delayed.
    """
    body = bytearray()
    with suppress(Exception):
        until = _limit_read_time(response)
        with closing(response.iter_bytes()) as chunks:
            for chunk in chunks:
                body += chunk
                if len(body) > _BODY_BYTES or time.monotonic() > until:
                    break
    response._content = bytes(body)


async def _read_some_async(response: Any) -> None:
    body = bytearray()
    with suppress(Exception):
        until = _limit_read_time(response)
        async with aclosing(response.aiter_bytes()) as chunks:
            async for chunk in chunks:
                body += chunk
                if len(body) > _BODY_BYTES or time.monotonic() > until:
                    break
        await response.aclose()
    response._content = bytes(body)


def _limit_read_time(response: Any) -> float:
    """Let each read of a body end soon; return the moment after which there may be no other one."""
    extensions = response.request.extensions
    extensions["timeout"] = {**extensions.get("timeout", {}), "read": _BODY_SECONDS}
    return time.monotonic() + _BODY_SECONDS


class _Call:
    """One call as the program makes it, whatever the number of its attempts."""

    def __init__(self, watch: _Watch, client: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        options = kwargs.get("options", args[1] if len(args) > 1 else None)
        own = getattr(options, "max_retries", None)
        body = getattr(options, "json_data", None)
        self._client = client
        self._chain = Chain(watch.caller, watch.log, watch.session(), watch.provider)
        self._most = 1 + (own if type(own) is int else int(client.max_retries))
        self._model = body.get("model") if isinstance(body, dict) else None
        self._failed_at: float | None = None
        self._outcome = "recovered"

    @contextmanager
    def attempt(self) -> Iterator[Callable[[Any], None]]:
        """Watch one attempt; the function that it yields takes the answer, whole if it is an error."""
        _quietly(self._begins)
        try:
            yield functools.partial(_quietly, self._answered)
        except BaseException as error:
            _quietly(self._failed, error)
            raise

    def is_tried_again(self, response: Any) -> bool:
        """Return true if the SDK makes another attempt after this answer."""
        return self._chain.attempt < self._most and _tries_again(self._client, response)

    def ends(self, error: BaseException | None) -> None:
        """Settle the chain of a call that returned,
        or raised its last attempt's error or an interrupt.
        """
        aborted = error is not None and not isinstance(error, Exception)
        self._chain.settle("aborted" if aborted else self._outcome)

    def _begins(self) -> None:
        if self._failed_at is not None:
            delay = time.monotonic() - self._failed_at
            self._chain.waited_seconds += delay
            self._chain.begun = True  # also after a try that was expected to be the last
            self._chain.retry_scheduled(delay)
        self._chain.attempt += 1

    def _answered(self, response: Any) -> None:
        # Errors while the program reads a good answer are not errors of the call.
        if _is_error(response):
            self._failed(None, response)
        else:
            self._failed_at, self._outcome = None, "recovered"

    def _failed(self, error: BaseException | None, response: Any = None) -> None:
        chain, left = self._chain, self._most - self._chain.attempt
        self._failed_at = time.monotonic()
        again = left > 0 and isinstance(error, Exception) if error is not None else self.is_tried_again(response)
        verdict = classify(error if error is not None else self._facts(response))
        chain.reason = verdict.reason
        if error is not None and not isinstance(error, Exception):
            self._outcome = "aborted"
        else:
            self._outcome = "exhausted" if (again or chain.begun) and verdict.retryable else "surfaced"
        action = "retry" if again else "surface"
        if self._outcome == "aborted":
            action = "record"
        chain.error_classified(
            verdict, action=action, left=max(left, 0), again=again, outcome=self._outcome, model=self._model
        )

    def _facts(self, response: Any) -> dict[str, Any]:
        body = response.content[:_BODY_BYTES].decode(response.encoding or "utf-8", "replace")
        facts = {"status": response.status_code, "headers": dict(response.headers), "body": body}
        return {**facts, "provider": self._chain.provider, "model": self._model}


def _tries_again(client: Any, response: Any) -> bool:
    asked = getattr(client, "_should_retry", None)
    try:
        return bool(asked(response)) if asked is not None else _is_retried(response.status_code)
    except Exception:  # noqa: BLE001 - a private method of a version that is not known
        return _is_retried(response.status_code)


def _is_retried(status: int) -> bool:
    return status in _RETRIED or status >= 500


def _quietly(function: Callable[..., T], *args: Any) -> T | None:
    try:
        return function(*args)
    except Exception:  # noqa: BLE001 - telemetry must never break the program that it watches
        return None


def _is_error(response: Any) -> bool:
    return getattr(response, "is_success", True) is False
