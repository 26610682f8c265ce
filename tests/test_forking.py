"""Forks: what a child gets is its own, and works."""

from __future__ import annotations

import os
import signal
import threading

from analyzer.classifier import classify, default_ruleset
from analyzer.classifier.rules.index import index_of
from analyzer.redaction import redact


def ended_well(work: object) -> bool:
    """Whether a forked child that calls `work` comes to its end within ten seconds, and finds it true."""
    child = os.fork()
    if not child:
        signal.alarm(10)
        os._exit(0 if work() else 1)  # type: ignore[operator]
    return os.waitpid(child, 0)[1] == 0


def test_a_child_compiles_patterns_of_its_own() -> None:
    """Neither the index of a ruleset nor a pattern in it is shared with the parent."""
    ruleset = default_ruleset()
    index = index_of(ruleset)
    patterns = {id(pattern.regex) for pattern in index.patterns if pattern.regex is not None}

    def fresh() -> bool:
        own = index_of(ruleset)
        return own is not index and patterns.isdisjoint(id(p.regex) for p in own.patterns if p.regex is not None)

    assert index_of(ruleset) is index
    assert ended_well(fresh)


def test_a_child_judges_and_redacts_while_its_parent_is_at_it() -> None:
    """A fork amid matches of other threads leaves no lock closed: every child ends, with the same answer."""
    stopped = threading.Event()

    def busy() -> None:
        count = 0
        while not stopped.is_set():
            count += 1
            classify(
                f"HTTP {400 + count % 200} request {count:x} failed: api_key=abc{count}def overloaded {os.urandom(9)!r}"
            )

    def right() -> bool:
        return classify("429 Too Many Requests").reason == "rate_limited" and "REDACTED" in redact(
            "password=hunter2abc"
        )

    threads = [threading.Thread(target=busy) for _ in range(2)]
    for thread in threads:
        thread.start()
    try:
        assert all(ended_well(right) for _ in range(10))
    finally:
        stopped.set()
        for thread in threads:
            thread.join()
