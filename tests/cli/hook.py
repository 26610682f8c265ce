"""A server on the loopback that is posted to: it answers with what it was told to, and keeps what it was sent."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer
from typing import Any

NO_HTTP = 0
"""The code for an answer that is none."""


class _Hook(BaseHTTPRequestHandler):
    """Answers with the codes that it was told, one after another, and keeps the bodies."""

    def do_GET(self) -> None:
        self.send_response(200)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def do_POST(self) -> None:
        server: Any = self.server
        server.paths.append(self.path)
        server.bodies.append(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))
        code = server.codes.pop(0) if server.codes else 200
        if code == NO_HTTP:
            self.wfile.write(b"what you say is Greek to me\r\n\r\n")
            return
        self.send_response(code)
        if code == 302:
            self.send_header("Location", f"http://127.0.0.1:{server.server_port}/elsewhere")
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, *_: object) -> None:
        """Nothing on stderr."""


@contextmanager
def hook_server() -> Iterator[Any]:
    """The server while it runs; `codes` is what it answers, `bodies` and `paths` what it was sent, and where to."""
    server: Any = HTTPServer(("127.0.0.1", 0), _Hook)
    server.codes, server.bodies, server.paths = [], [], []
    server.url = f"http://127.0.0.1:{server.server_port}/secret-token"
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield server
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
