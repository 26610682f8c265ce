"""Guard a local server: who may ask, from which page, how much, and what a browser may do with an answer.

Invariants: no page is made for a request that another site could have sent. Whoever has no token
learns nothing but that it is missing.
"""

from __future__ import annotations

import hmac
from collections.abc import Iterable
from ipaddress import ip_address
from urllib.parse import parse_qsl, urlencode, urlsplit

from starlette.datastructures import Headers, MutableHeaders
from starlette.requests import cookie_parser
from starlette.responses import PlainTextResponse, RedirectResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

MAX_BODY = 64 * 1024
"""Bytes of a form."""
MAX_ADDRESS = 16 * 1024
"""Bytes of the part of an address after the host."""
HEADERS = {
    "Content-Security-Policy": "default-src 'none'; script-src 'self'; connect-src 'self'; img-src 'self' data:;"
    " style-src 'self' 'unsafe-inline'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'",
    "X-Content-Type-Options": "nosniff",
    # Without a referrer a browser says of its own form that it comes from nowhere.
    "Referrer-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
}
_UNKEPT = "private, no-cache"


class Guard:
    """Lets requests through that carry the token, name this server, and come from its own pages."""

    def __init__(self, app: ASGIApp, token: str, host: str, port: int) -> None:
        """Guard an app; `host` is the name that it listens on."""
        self._app, self._token, self._host = app, token, host.lower()
        # Cookies of all ports of a host are shared.
        self.cookie = f"analyzer-{port}"

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on, or refuse it."""
        if scope["type"] != "http":
            return

        async def with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                sent = MutableHeaders(scope=message)
                sent.update(HEADERS)
                sent.setdefault("Cache-Control", _UNKEPT)
            await send(message)

        answer = self._refusal(scope) or self._entry(scope)
        if answer is None:
            await self._app(scope, bounded(receive), with_headers)
        else:
            await answer(scope, receive, with_headers)

    def _refusal(self, scope: Scope) -> PlainTextResponse | None:
        """Return the refusal of a request that is malformed, too large, or comes from another site."""
        headers = Headers(scope=scope)
        host, origin = headers.get("host", ""), headers.get("origin")
        if len(scope.get("raw_path") or b"") + len(scope["query_string"]) > MAX_ADDRESS:
            return PlainTextResponse("This address is too long.\n", 414)
        if not self._is_own(host):
            return PlainTextResponse("This server does not go by that name.\n", 421)
        if origin is not None and origin != f"http://{host}":
            return PlainTextResponse("Another site may not ask this server.\n", 403)
        if scope["method"] not in {"GET", "HEAD", "POST"}:
            return PlainTextResponse("GET and POST are the only methods.\n", 405)
        if scope["method"] == "POST" and origin is None:
            return PlainTextResponse("A form must be sent by a page of this server.\n", 403)
        length = headers.get("content-length", "0")
        if not length.isascii() or not length.isdigit() or int(length) > MAX_BODY:
            return PlainTextResponse("This is too large.\n", 413)
        return None

    def _is_own(self, host: str) -> bool:
        """Say whether a Host header names this server.

        A site that lets its own name point here (DNS rebinding) cannot send the address itself.
        """
        name = urlsplit(f"//{host}").hostname or ""
        if name in {"localhost", self._host}:
            return True
        try:
            ip_address(name)
        except ValueError:
            return False
        return True

    def _entry(self, scope: Scope) -> PlainTextResponse | RedirectResponse | None:
        """Turn the token of an address into a cookie; refuse a request with neither."""
        cookies = cookie_parser("; ".join(Headers(scope=scope).getlist("cookie")))
        if self._is_token(cookies.get(self.cookie, "")):
            return None
        values = parse_qsl(scope["query_string"].decode("latin-1"), keep_blank_values=True)
        if scope["method"] == "GET" and any(self._is_token(value) for name, value in values if name == "token"):
            rest = urlencode([(name, value) for name, value in values if name != "token"])
            # Two slashes at its beginning would be the address of another host.
            path = "/" + scope["path"].lstrip("/\\")
            answer = RedirectResponse(f"{path}?{rest}" if rest else path, 303)
            answer.set_cookie(self.cookie, self._token, httponly=True, samesite="strict")
            return answer
        return PlainTextResponse("Open the address that `analyzer ui` printed: it has a token.\n", 403)

    def _is_token(self, text: str) -> bool:
        return hmac.compare_digest(text.encode("utf-8", "replace"), self._token.encode())


def bounded(receive: Receive) -> Receive:
    """Return what reads a body, and ends it as broken beyond `MAX_BODY` bytes."""
    left = MAX_BODY

    async def read() -> Message:
        nonlocal left
        message = await receive()
        left -= len(message.get("body", b""))
        return message if left >= 0 else {"type": "http.disconnect"}

    return read


def form_of(body: bytes) -> dict[str, str]:
    """Return the fields of a form as browsers send it; the last of a name counts."""
    pairs: Iterable[tuple[str, str]] = parse_qsl(body.decode("utf-8", "replace"), keep_blank_values=True)
    return dict(pairs)
