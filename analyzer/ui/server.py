"""The server of the pages: which page answers which address, and how it runs.

Invariants: a store is opened for one question and let go; one question is answered at a time. While
another process writes the store, a page that was shown before is shown again, with its time.
"""

from __future__ import annotations

import asyncio
import json
import socket
import threading
import time
from collections import OrderedDict
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from datetime import datetime
from functools import partial
from typing import TYPE_CHECKING

from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import HTMLResponse, PlainTextResponse, RedirectResponse, Response, StreamingResponse
from starlette.routing import Route
from starlette.types import ASGIApp

from analyzer.errors import AnalyzerError, StoreBusyError, system_text
from analyzer.events.times import now
from analyzer.frozen import frozen
from analyzer.report.charts.elements import palette
from analyzer.report.charts.picture import plotly_script
from analyzer.report.document import Items
from analyzer.report.writers.html import resource
from analyzer.ui import incidents, pages, sessions
from analyzer.ui.guard import Guard, form_of
from analyzer.ui.kept import Kept
from analyzer.ui.live import Live
from analyzer.ui.page import Page, to_page, to_part

if TYPE_CHECKING:
    from analyzer.classifier import Ruleset
    from analyzer.command_lines import Asking
    from analyzer.report.document import Block
    from analyzer.store import Store

KEPT_PAGES = 32
"""Pages that are kept for the time in which the store cannot be opened."""
MAX_STREAMS = 8
"""Open pages that are kept up to date; further ones stay as they are."""
STORE_SECONDS = 15.0
"""Seconds for which a live page shows what it read from the store."""
_LOOK_SECONDS = 0.25
_SILENT_SECONDS = 15.0
"""Seconds after which a page comes again without news, as waits end and silence grows."""
_UNCHANGING = {"Cache-Control": "private, max-age=3600"}
"""Of the four megabytes of plotly, which a new release of it changes."""
_TYPES = {"csv": "text/csv; charset=utf-8", "parquet": "application/vnd.apache.parquet"}


@frozen
class Access:
    """How the pages reach the store and the settings of who started them."""

    read: Callable[[], Store]
    """Opens the store for questions."""
    write: Callable[[], Store]
    """Opens it for decisions."""
    sql: Callable[[str, str], bytes]
    """Runs a statement apart from this process, and returns its rows in a form such as `json`."""
    rules: Callable[[], Ruleset]
    asking: Asking
    """How printed commands name the store."""
    person: str
    """The name of who decides."""


Make = Callable[["Store", Mapping[str, str]], Page]


class Pages:
    """The pages of a store, as the routes of a server."""

    def __init__(self, access: Access, live: Live, token: str) -> None:
        """Serve the store of `access`, and what `live` sees."""
        self._access, self._live, self._token = access, live, token
        self._store, self._statement = threading.Lock(), threading.Lock()
        self._kept: OrderedDict[str, tuple[Page, datetime]] = OrderedDict()
        self._streams = 0
        self._read_at = -STORE_SECONDS
        self._answers = Kept()
        self._present: Sequence[Block] = ()
        """What the store said last for the page Now."""

    def app(self, host: str, port: int) -> ASGIApp:
        """Return the server's application, guarded."""
        asking = self._access.asking
        shown: dict[str, Make] = {
            "/now": self._now,
            "/incidents": incidents.listing,
            "/incident": partial(incidents.finding, kept=self._answers, asking=asking),
            "/errors": partial(pages.errors, kept=self._answers),
            "/error": partial(pages.error, rules=self._access.rules, asking=asking),
            "/sessions": partial(sessions.listing, kept=self._answers),
            "/session": partial(sessions.session, asking=asking),
            "/report": partial(pages.report, kept=self._answers, asking=asking),
        }
        routes = [Route(path, partial(self._page, make)) for path, make in shown.items()]
        routes += [
            Route("/", lambda _: RedirectResponse("/now", 303)),
            Route("/ask", self._ask),
            Route("/live", self._stream),
            Route("/rows", self._rows),
            Route("/decide", self._decide, methods=["POST"]),
            Route("/page.css", lambda _: Response(_style(), media_type="text/css")),
            Route("/plotly.js", lambda _: Response(plotly_script(), headers=_UNCHANGING, media_type="text/javascript")),
            Route("/page.js", lambda _: Response(_resource("page.js"), media_type="text/javascript")),
        ]
        return Guard(Starlette(routes=routes), self._token, host, port)

    def _page(self, make: Make, request: Request) -> Response:
        return self._answer(lambda store: make(store, dict(request.query_params)), request)

    def _answer(self, make: Callable[[Store], Page], request: Request) -> Response:
        """Make a page out of the store; say what is wrong on a page, too."""
        address, notice = str(request.url), ""
        try:
            with self._store, self._access.read() as store:
                page = make(store)
            self._kept[address] = page, now()
            self._kept.move_to_end(address)
            if len(self._kept) > KEPT_PAGES:
                self._kept.popitem(last=False)
        except StoreBusyError as error:
            if address in self._kept:
                page, at = self._kept[address]
                notice = f"The store is being written. This page is of {at:%H:%M:%S} UTC; load it again in a while."
            else:
                page = replace(_refusal(error), status=503)
        except AnalyzerError as error:
            page = _refusal(error)
        return HTMLResponse(to_page(page, request.url.path, self._token, notice), page.status)

    def _ask(self, request: Request) -> Response:
        """Show the answer to a statement, or why there is none, below the statement."""
        values = dict(request.query_params)
        answer = None
        if statement := values.get("sql", "").strip():
            try:
                answer = json.loads(self._answered(statement, "json"))
            except AnalyzerError as error:
                answer = error
        return self._answer(lambda store: pages.ask(store, values, answer), request)

    def _answered(self, statement: str, form: str) -> bytes:
        """Run a statement, after any other one, while the other pages are answered."""
        if len(statement) > pages.MAX_SQL:
            raise AnalyzerError(f"a statement of more than {pages.MAX_SQL:,} characters", "analyzer sql takes it")
        with self._statement:
            return self._access.sql(statement, form)

    def _now(self, store: Store, values: Mapping[str, str]) -> Page:
        view = self._live.view()
        return pages.current(view, self._of_store(store))

    def _of_store(self, store: Store) -> Sequence[Block]:
        self._present = self._answers.of(store, "present", lambda: pages.present(store, now()), STORE_SECONDS)
        return self._present

    async def _stream(self, _: Request) -> Response:
        """Send the document of the page Now again whenever a log has grown."""
        if self._streams >= MAX_STREAMS:
            return PlainTextResponse("Too many pages are open.\n", 503)

        async def parts() -> AsyncIterator[str]:
            self._streams += 1
            try:
                version, silent = self._live.version, 0.0
                yield ": here\n\n"
                while not self._live.is_over:
                    await asyncio.sleep(_LOOK_SECONDS)
                    silent += _LOOK_SECONDS
                    if version != self._live.version or silent >= _SILENT_SECONDS:
                        version, silent = self._live.version, 0.0
                        html = await run_in_threadpool(self._part)
                        yield f"data: {json.dumps(html)}\n\n"
            finally:
                self._streams -= 1

        return StreamingResponse(parts(), media_type="text/event-stream")

    def _part(self) -> str:
        """Return the document of the page Now; what is of the store is read again once in a while."""
        with self._store, suppress(AnalyzerError):
            if time.monotonic() - self._read_at > STORE_SECONDS:
                self._read_at = time.monotonic()
                with self._access.read() as store:
                    self._of_store(store)
        return to_part(pages.current(self._live.view(), self._present))

    def _rows(self, request: Request) -> Response:
        """Give the rows of a statement as a file."""
        form = request.query_params.get("form", "csv")
        if form not in _TYPES:
            return PlainTextResponse("csv and parquet are the forms.\n", 400)
        try:
            content = self._answered(request.query_params.get("sql", ""), form)
        except AnalyzerError as error:
            return PlainTextResponse(f"{error.message}\n{error.hint}\n", 400)
        return Response(
            content, headers={"Content-Disposition": f'attachment; filename="rows.{form}"'}, media_type=_TYPES[form]
        )

    async def _decide(self, request: Request) -> Response:
        """Write down a decision, and lead back to the incident."""
        form = form_of(await request.body())
        if form.get("token") != self._token:
            return PlainTextResponse("Load the page again: its form is out of date.\n", 403)
        return await run_in_threadpool(self._decided, form, request)

    def _decided(self, form: Mapping[str, str], request: Request) -> Response:
        try:
            with self._store, self._access.write() as store:
                finding = incidents.decide(store, form, self._access.person)
        except AnalyzerError as error:
            page = _refusal(error)
            return HTMLResponse(to_page(page, request.url.path, self._token), page.status)
        return RedirectResponse(f"/incident?id={finding}", 303)


def _refusal(error: AnalyzerError) -> Page:
    return Page("This cannot be shown", [Items([error.hint], error.message)], status=400)


def _style() -> str:
    return palette() + resource("style.css") + _resource("page.css")


_resource = partial(resource, room="analyzer.ui")


def serve(access: Access, live: Live, listen: tuple[str, int], token: str, began: Callable[[str], None]) -> None:
    """Answer until a signal comes; `began` gets the address with the token.

    Port 0 is any that is free.

    Raises:
        AnalyzerError: the address cannot be listened on.
    """
    import uvicorn

    host, port = listen
    try:
        family = socket.AF_INET6 if ":" in host else socket.AF_INET
        listener = socket.create_server((host, port), family=family)
    except OSError as error:
        hint = "name another address with --listen; port 0 is any free one"
        raise AnalyzerError(f"{host}:{port} cannot be used: {system_text(error)}", hint) from None
    with listener:
        port = listener.getsockname()[1]
        app = Pages(access, live, token).app(host, port)
        config = uvicorn.Config(
            app, log_config=None, access_log=False, lifespan="off", ws="none", http="h11", loop="asyncio",
            limit_concurrency=64, timeout_keep_alive=5, timeout_graceful_shutdown=1, server_header=False,
            date_header=False, proxy_headers=False, h11_max_incomplete_event_size=32 * 1024,
        )  # fmt: skip
        thread = threading.Thread(target=live.run, daemon=True)
        thread.start()
        name = f"[{host}]" if ":" in host else host
        began(f"http://{name}:{port}/?token={token}")
        try:
            uvicorn.Server(config).run(sockets=[listener])
        finally:
            live.stop()
