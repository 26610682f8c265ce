"""Templates in SQL: the same as in Python, for whatever text, and in the view for every error."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from hypothesis import given

from analyzer.classifier.fingerprint import fingerprint, fingerprint_of, template, templates
from analyzer.store import Store
from analyzer.store.db.connection import connect
from analyzer.store.db.frames import register
from benchmarks.loglines import corpus
from tests.classifier.test_fingerprint import TEXT


@pytest.fixture(scope="module")
def connection() -> Any:
    """A store's connection, for the macros."""
    return connect(":memory:", read_only=False)


def _in_sql(connection: Any, texts: list[str]) -> list[tuple[str, str]]:
    register(connection, "texts", pl.DataFrame({"place": range(len(texts)), "message": texts}))
    return connection.execute(
        "select internal.template(message) as template, internal.fingerprint(template) from texts order by place"
    ).fetchall()


def test_sql_and_python_agree_on_a_large_corpus(connection: Any) -> None:
    """Some ten thousand different lines get the same template and id from both."""
    texts = sorted({line.text for line in corpus(seed=3, rounds=8)})
    assert len(texts) > 8_000
    mine = templates(texts)
    assert _in_sql(connection, texts) == [(each, fingerprint_of(each)) for each in mine]


@given(TEXT)
def test_sql_and_python_agree_on_any_text(connection: Any, text: str) -> None:
    """Letters of any script, control characters, marks that patterns begin with."""
    assert _in_sql(connection, [text]) == [(template(text), fingerprint(text))]


def test_every_error_with_a_message_has_both(memory: Store, jsonl: Callable[..., Path], native: Any) -> None:
    """With facts, with output in place of a message, without facts, and without any text."""
    lines = [
        native("1", reason="unknown", facts={"message": "Canvas shard 4 is parked"}),
        native("2", reason="unknown", facts={"stderr": "Canvas shard 5 is parked", "exit_code": 1}),
        native("3", reason="unknown", message="Canvas shard 6 is parked"),
        native("4", reason="unknown", facts={"status": 418}),
    ]
    path = jsonl("log.jsonl", *(line.decode().strip() for line in lines))
    memory.ingest([str(path)])
    rows = memory.sql("select event_id, template, fingerprint from errors order by event_id").rows()
    same = ("Canvas shard <*> is parked", fingerprint("Canvas shard 1 is parked"))
    assert rows == [("1", *same), ("2", *same), ("3", *same), ("4", None, None)]
