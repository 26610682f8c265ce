"""`analyzer ui`: the answers as live pages of a server on this machine."""

from __future__ import annotations

import importlib.util
import os
import secrets
from contextlib import suppress
from ipaddress import ip_address
from typing import TYPE_CHECKING

import click

from analyzer.cli.commands.checking import account
from analyzer.cli.commands.questions import DEFAULT_LIMIT, DEFAULT_MEMORY, DEFAULT_SECONDS, size_of
from analyzer.cli.options import PathsCommand, quiet_option, store_path_option
from analyzer.cli.output import echo, narrate, report_problems
from analyzer.cli.stores import NamedStore, default_store, is_here, places_here, read_logs, store_of_agents
from analyzer.errors import AnalyzerError

if TYPE_CHECKING:
    from analyzer.ui.server import Access

TOKEN = "ANALYZER_UI_TOKEN"  # noqa: S105 - the name of the variable
_LEAST_TOKEN = 16


@click.command("ui", cls=PathsCommand)
@click.argument("paths", nargs=-1, metavar="[PATH]...")
@store_path_option(default=None)
@click.option("--listen", default="127.0.0.1:0", metavar="HOST:PORT", help="Default: 127.0.0.1 and any free port.")
@click.option("--no-browser", is_flag=True, help="Only print the address.")
@quiet_option
def command(paths: tuple[str, ...], store_path: str | None, listen: str, no_browser: bool, quiet: bool) -> None:
    """Show the answers as live pages in your browser: look, click, ask, acknowledge.

    \b
      analyzer ui
      analyzer ui --store fleet.duckdb --no-browser
      analyzer ui logs/ --store fleet.duckdb --listen 127.0.0.1:8377

    It serves the store, and follows PATHs, or the logs of all agents on this machine. Without --store, new logs of
    this machine are read into its store first. The address, on stdout, has a token: whoever has it can read the
    store and decide on findings. To listen on other addresses, set $ANALYZER_UI_TOKEN. Stop it with Ctrl-C. Install
    the extra: pip install 'agent-error-analyzer[ui]'.
    """
    if any(importlib.util.find_spec(name) is None for name in ("starlette", "uvicorn")):
        hint = "install them: pip install 'agent-error-analyzer[ui]'"
        raise AnalyzerError("the pages need starlette and uvicorn, not installed here", hint)
    host, port = _address(listen)
    token = os.environ.get(TOKEN) or secrets.token_urlsafe(24)
    if len(token) < _LEAST_TOKEN or not token.isascii() or not token.replace("-", "").replace("_", "").isalnum():
        raise AnalyzerError(f"${TOKEN} is no token", f"write {_LEAST_TOKEN} letters and digits or more")
    if not _is_loopback(host) and not os.environ.get(TOKEN):
        raise AnalyzerError(f"{host} can be reached from elsewhere", f"set ${TOKEN}, or listen on 127.0.0.1")
    store = _store(store_path, quiet=quiet)

    from analyzer.ui.live import Live
    from analyzer.ui.server import serve

    def began(address: str) -> None:
        echo(address)
        narrate(f"serving {store.name} until Ctrl-C", quiet=quiet)
        if not no_browser:
            import webbrowser

            if not webbrowser.open(address):
                narrate("no browser could be started; open the address above", quiet=quiet)

    serve(_access(store), Live(paths or places_here()), (host, port), token, began)


def _address(listen: str) -> tuple[str, int]:
    host, separator, port = listen.rpartition(":")
    host = host.removeprefix("[").removesuffix("]")
    if not separator or not host or not (port.isascii() and port.isdigit()) or int(port) > 65_535:
        raise AnalyzerError(f"no address: {listen}", "write HOST:PORT, as in 127.0.0.1:8377; port 0 is any free one")
    return host, int(port)


def _is_loopback(host: str) -> bool:
    with suppress(ValueError):
        return ip_address(host).is_loopback
    return host == "localhost"


def _store(name: str | None, *, quiet: bool) -> NamedStore:
    """Return the store to serve, which can be opened; without a name new logs of this machine are read first."""
    if name is None and not is_here():
        store = NamedStore(store_of_agents())
        store.announce_logs(quiet=quiet)
        with store.open_for_logs() as opened:
            report_problems(read_logs(opened.ingest, quiet=quiet).problems)
        return store
    store = NamedStore(name or default_store())
    store.open_for_queries().close()
    return store


def _access(store: NamedStore) -> Access:
    from analyzer.cli.inputs import ruleset_in_use
    from analyzer.cli.sandbox import Request, answer
    from analyzer.ui.server import Access

    def sql(statement: str, form: str) -> bytes:
        request = Request(store.name, statement, DEFAULT_LIMIT, form, None, DEFAULT_SECONDS, size_of(DEFAULT_MEMORY))
        with answer(request) as answered:
            return answered.content.read()

    return Access(
        read=store.open_for_queries,
        write=store.open_for_decisions,
        sql=sql,
        rules=lambda: ruleset_in_use(None),
        asking=store.asking(elsewhere=True),
        person=account(),
    )
