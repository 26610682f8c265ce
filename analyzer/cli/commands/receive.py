"""`analyzer receive` takes OpenTelemetry over HTTP and writes it to files that every other command reads."""

from __future__ import annotations

import os

import click

from analyzer.cli.options import DEFAULT_LOG, quiet_option
from analyzer.cli.output import narrate
from analyzer.errors import AnalyzerError

TOKEN = "ANALYZER_RECEIVE_TOKEN"  # noqa: S105 - the name of the variable
_HERE = ("127.0.0.1", "::1", "localhost")


@click.command("receive")
@click.option(
    "--listen", default="127.0.0.1:4318", metavar="HOST:PORT", show_default=True, help="The address; port 0 is any."
)
@click.option("--log", "folder", default=DEFAULT_LOG, metavar="DIR", help=f"The log folder. Default {DEFAULT_LOG}/.")
@quiet_option
def command(listen: str, folder: str, quiet: bool) -> None:
    """Take logs, traces and metrics of agents as OTLP over HTTP (JSON or protobuf), and write them to a log folder.

    What is acknowledged is on the disk. Each request is a line of otlp-DAY.*.jsonl, with secrets taken out, which
    ingest, report and watch read. A full disk is answered by 503, too many at once by 429, both with Retry-After.

    Other addresses than those of this machine want a token in $ANALYZER_RECEIVE_TOKEN, which senders give as
    Authorization: Bearer TOKEN. Bodies in protobuf want the extra: pip install 'agent-error-analyzer[receive]'.

    \b
      analyzer receive --log telemetry
      export OTEL_EXPORTER_OTLP_ENDPOINT=http://127.0.0.1:4318
      export OTEL_EXPORTER_OTLP_PROTOCOL=http/json OTEL_LOGS_EXPORTER=otlp
      CLAUDE_CODE_ENABLE_TELEMETRY=1 claude
      analyzer report telemetry
    """
    from analyzer.cli.receiving import serve

    host, separator, port = listen.rpartition(":")
    host = host.removeprefix("[").removesuffix("]")
    if not separator or not host or not (port.isascii() and port.isdigit()) or int(port) > 65_535:
        raise AnalyzerError(f"no address: {listen}", "write HOST:PORT, as in 127.0.0.1:4318")
    token = os.environ.get(TOKEN) or None
    if host not in _HERE and token is None:
        raise AnalyzerError(f"{host} can be reached from elsewhere", f"set ${TOKEN}, or listen on 127.0.0.1")
    serve(
        host,
        int(port),
        folder,
        token,
        lambda address: narrate(f"listening on {address}, writing to {folder}", quiet=quiet),
    )
