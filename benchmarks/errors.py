"""Our verdicts beside those of hermes and litellm, on this repository's labelled errors: `python -m benchmarks.errors`.

Each peer is installed by pip into an environment of its own, in a folder that goes when this ends, and asked as its
own program asks: with an exception that has the status, the body and the words of the error. Their finer answers are
mapped to the eight reasons below; where a mapping is arguable it is the one that is better for the peer. A peer that
cannot be installed is named, with why. openclaw is not asked: nobody could install its package where this was written.

The errors were written for our rules, most of them before the rules, so they favour ours; the set `later` was not
looked at when rules were written. Whether an overflow is worth another try is asked in two ways, the same prompt or a
shorter one, so that the retry decision stands there with these errors and without them. Texts can be added: each line
of a file of JSON lines has `input`, `reason`, `acceptable` and `retryable`, as in docs/how-to/rules.md.
"""

from __future__ import annotations

import argparse
import contextlib
import importlib
import io
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve()
RULES = HERE.parents[1] / "tests" / "classifier" / "rules"
SETS = {name: f"{name}.jsonl" for name in ("probes", "families", "threads", "bare", "fresh")}
PEERS = {"hermes": ("hermes-agent",), "litellm": ("litellm",)}
"""What pip installs for each."""
MINUTES = 10
"""An installation and a peer's answers may take."""
OVERFLOW = "context_overflow"
RETRYABLE = ("rate_limited", OVERFLOW, "network_transient")
WIDTHS = (12, 8, 8, 21)

OF_HERMES = {
    **dict.fromkeys(("auth", "auth_permanent", "billing"), "auth_error"),
    **dict.fromkeys(("rate_limit", "upstream_rate_limit"), "rate_limited"),
    **dict.fromkeys(("overloaded", "server_error", "timeout"), "network_transient"),
    **dict.fromkeys(("ssl_cert_verification", "model_not_found"), "network_permanent"),
    **dict.fromkeys(("context_overflow", "payload_too_large", "long_context_tier"), "context_overflow"),
    "unknown": "unknown",
}
"""What is not named here is a request that is wrong."""
OF_LITELLM = {
    **dict.fromkeys(("AuthenticationError", "PermissionDeniedError", "BudgetExceededError"), "auth_error"),
    **dict.fromkeys(("InternalServerError", "ServiceUnavailableError", "Timeout"), "network_transient"),
    **dict.fromkeys(("APIConnectionError", "BadGatewayError", "APIError"), "network_transient"),
    "RateLimitError": "rate_limited",
    "ContextWindowExceededError": "context_overflow",
    "NotFoundError": "network_permanent",
}

Answer = tuple[str, bool]
"""Reason, and whether it is worth another try."""


class FailedError(Exception):
    """An error as the libraries of providers raise it."""

    def __init__(self, given: Any) -> None:
        parts = given if isinstance(given, dict) else {"message": str(given)}
        body = parts.get("body")
        inner = body.get("error", body) if isinstance(body, dict) else body
        said = inner.get("message") if isinstance(inner, dict) else inner
        texts = (parts.get("message"), said, parts.get("stderr"), parts.get("stdout"), parts.get("code"))
        self.message = next((str(each) for each in texts if each), json.dumps(parts))
        self.status_code = parts.get("status")
        self.code = parts.get("code") or (inner.get("code") if isinstance(inner, dict) else None)
        self.type = parts.get("type") or (inner.get("type") if isinstance(inner, dict) else None)
        self.body = body if isinstance(body, dict) else None
        super().__init__(self.message)


def main(argv: Sequence[str] | None = None) -> int:
    """Ask everybody, and print the table. Exits with 0 whatever it says."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.errors", description=__doc__)
    parser.add_argument("files", nargs="*", metavar="FILE", help="labelled errors instead of the repository's")
    parser.add_argument("--peer", choices=PEERS, help=argparse.SUPPRESS)
    options = parser.parse_args(argv)
    if options.peer:
        return _answer_as(options.peer)
    files = {Path(each).name: Path(each) for each in options.files} or {name: RULES / at for name, at in SETS.items()}
    sets = {name: [json.loads(line) for line in at.read_text("utf-8").splitlines()] for name, at in files.items()}
    if "threads" in sets and not options.files:
        sets["threads, later"] = [row for row in sets["threads"] if row["id"].startswith("later")]
    rows = [row for found in sets.values() for row in found]
    print(f"{'':24}{'acceptable':>12}{'wrong':>8}{'retry':>8}{'of prompts that fit':>21}{'of':>8}")
    _print("analyzer", sets, _ours(rows))
    for peer in PEERS:
        with tempfile.TemporaryDirectory() as folder:
            answers = _asked(peer, rows, Path(folder))
        if isinstance(answers, str):
            print(f"{peer}: NOT MEASURED: {answers}")
        else:
            _print(peer, sets, answers)
    return 0


def _ours(rows: Iterable[dict[str, Any]]) -> list[Answer]:
    from analyzer.classifier import classify

    found = [classify(row["input"]) for row in rows]
    return [(each.reason, each.retryable) for each in found]


def _asked(peer: str, rows: list[dict[str, Any]], folder: Path) -> list[Answer] | str:
    """A peer's answers, or why there are none."""
    python = folder / "bin" / "python"
    # Without this, the peer looks on the network for prices.
    environment = {**os.environ, "LITELLM_LOCAL_MODEL_COST_MAP": "True"}
    steps = (
        ([sys.executable, "-m", "venv", str(folder)], None),
        ([str(python), "-m", "pip", "install", "--quiet", *PEERS[peer]], None),
        ([str(python), str(HERE), "--peer", peer], "\n".join(json.dumps(row["input"]) for row in rows)),
    )
    done = None
    for command, given in steps:
        try:
            done = subprocess.run(  # noqa: S603 - our own commands
                command, input=given, env=environment, capture_output=True, text=True, timeout=MINUTES * 60, check=False
            )
        except (OSError, subprocess.TimeoutExpired) as error:
            return f"{' '.join(command[1:4])}: {error}"
        if done.returncode:
            said = (done.stderr.strip().splitlines() or ["it says nothing"])[-1]
            return f"{' '.join(command[1:4])} exits with {done.returncode}: {said[:200]}"
    answers = [json.loads(line) for line in done.stdout.splitlines()] if done is not None else []
    if len(answers) != len(rows):
        return f"{len(answers)} answers to {len(rows)} errors"
    return [(reason, retried) for reason, retried in answers]


def _answer_as(peer: str) -> int:
    """Answer each line of stdin as the peer does that is installed beside the Python that runs this."""
    ask: Callable[[Any], Answer] = _hermes() if peer == "hermes" else _litellm()
    for line in sys.stdin.read().split("\n"):
        with contextlib.redirect_stdout(io.StringIO()):
            answer = ask(json.loads(line))
        print(json.dumps(answer))
    return 0


def _hermes() -> Callable[[Any], Answer]:
    classifier = importlib.import_module("agent.error_classifier")

    def ask(given: Any) -> Answer:
        found = classifier.classify_api_error(FailedError(given))
        return OF_HERMES.get(found.reason.value, "validation"), bool(found.retryable)

    return ask


def _litellm() -> Callable[[Any], Answer]:
    mapping = importlib.import_module("litellm.litellm_core_utils.exception_mapping_utils")

    def ask(given: Any) -> Answer:
        try:
            mapping.exception_type(model="heron", original_exception=FailedError(given), custom_llm_provider="openai")
        except Exception as error:  # noqa: BLE001 - what it raises is the answer
            name = next((each.__name__ for each in type(error).__mro__ if each.__name__ in OF_LITELLM), "")
            reason = OF_LITELLM.get(name, "validation")
            return reason, reason in RETRYABLE
        return "unknown", False

    return ask


def _print(name: str, sets: dict[str, list[dict[str, Any]]], answers: list[Answer]) -> None:
    """One line a set."""
    at = 0
    for title, rows in sets.items():
        here = list(zip(rows, answers[at : at + len(rows)], strict=True))
        at += len(rows)
        right = sum(reason in row.get("acceptable", [row["reason"]]) for row, (reason, _) in here)
        unknown = sum(
            r == "unknown" and "unknown" not in row.get("acceptable", [row["reason"]]) for row, (r, _) in here
        )
        stated = [(row, row["retryable"] == retried) for row, (_, retried) in here if row.get("retryable") is not None]
        retries = [agreed for _, agreed in stated]
        fitting = [agreed for row, agreed in stated if OVERFLOW not in row.get("acceptable", [row["reason"]])]
        shares = [right / len(here), (len(here) - right - unknown) / len(here)]
        shares += [sum(agreed) / max(1, len(agreed)) for agreed in (retries, fitting)]
        cells = "".join(f"{share:>{width}.1%}" for share, width in zip(shares, WIDTHS, strict=True))
        print(f"{f'{name}, {title}':24}{cells}{len(here):>8}", flush=True)


if __name__ == "__main__":
    sys.exit(main())
