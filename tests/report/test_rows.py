"""Rows of queries in every format."""

from __future__ import annotations

import csv
import io
import json
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal
from typing import Any

import polars as pl
import pytest

from analyzer.errors import AnalyzerError
from analyzer.report import FORMATS, render_rows
from analyzer.report.writers import monospace
from analyzer.report.writers.monospace import width_of

MOMENT = datetime(2026, 11, 21, 8, 15, 30, 123000)


@pytest.fixture
def wide() -> pl.DataFrame:
    """One column of each type that a query can give."""
    return pl.DataFrame(
        {
            "text": ["=1+1", None],
            "number": [1, -2],
            "share": [0.1, float("nan")],
            "at": [MOMENT, None],
            "day": [date(2026, 11, 21), None],
            "yes": [True, None],
        }
    )


def loaded(frame: pl.DataFrame) -> Any:
    """The JSON of a frame, read again."""
    return json.loads(render_rows(frame, "json"))


def test_json_has_the_contract_s_shape(wide: pl.DataFrame) -> None:
    """Schema, columns, rows as objects, and whether rows are missing."""
    found = json.loads(render_rows(wide, "json", name="analyzer.sql/1", truncated=True))
    assert found["schema"] == "analyzer.sql/1"
    assert found["columns"] == wide.columns
    assert found["truncated"] is True
    first = {
        "text": "=1+1",
        "number": 1,
        "share": 0.1,
        "at": "2026-11-21T08:15:30.123Z",
        "day": "2026-11-21",
        "yes": True,
    }
    assert found["rows"] == [first, {**dict.fromkeys(wide.columns), "number": -2}]


def test_json_integers_keep_every_digit() -> None:
    """128-bit integers and DuckDB's sums are JSON numbers; decimals with a fraction too."""
    frame = pl.DataFrame(
        {
            "huge": pl.Series([2**100], dtype=pl.Int128),
            "total": pl.Series([Decimal(10**30)], dtype=pl.Decimal(38, 0)),
            "price": pl.Series([Decimal("1.50")], dtype=pl.Decimal(10, 2)),
            "small": pl.Series([7], dtype=pl.UInt8),
        }
    )
    text = render_rows(frame, "json")
    assert str(2**100) in text
    assert loaded(frame)["rows"] == [{"huge": 2**100, "total": 10**30, "price": 1.5, "small": 7}]


def test_json_has_no_nan() -> None:
    """NaN and infinities are null."""
    frame = pl.DataFrame({"x": [float("nan"), float("inf"), float("-inf"), 1.5]})
    assert [row["x"] for row in loaded(frame)["rows"]] == [None, None, None, 1.5]


def test_json_of_nested_and_odd_types() -> None:
    """Lists, structs, bytes, times and durations have a JSON form."""
    frame = pl.DataFrame(
        {
            "list": [[1.0, float("nan")]],
            "struct": [{"at": MOMENT}],
            "bytes": [b"\x00\xff"],
            "time": [time(8, 15)],
            "span": [timedelta(seconds=1.5)],
            "micro": [MOMENT.replace(microsecond=123456)],
            "zoned": [MOMENT.replace(tzinfo=UTC)],
        }
    )
    assert loaded(frame)["rows"] == [
        {
            "list": [1.0, None],
            "struct": {"at": "2026-11-21T08:15:30.123Z"},
            "bytes": "00ff",
            "time": "08:15:00",
            "span": 1.5,
            "micro": "2026-11-21T08:15:30.123456Z",
            "zoned": "2026-11-21T08:15:30.123Z",
        }
    ]


def test_jsonl_has_one_object_a_line(wide: pl.DataFrame) -> None:
    """Each row is a line of its own."""
    lines = str(render_rows(wide, "jsonl")).splitlines()
    assert [json.loads(line)["number"] for line in lines] == [1, -2]


def test_csv_quotes_all_but_numbers(wide: pl.DataFrame) -> None:
    """Texts stand in quotes and formulas are disarmed; a missing value is an empty cell."""
    lines = str(render_rows(wide, "csv")).splitlines()
    assert lines[0] == '"text","number","share","at","day","yes"'
    assert lines[1] == '"\'=1+1",1,0.1,"2026-11-21T08:15:30.123Z","2026-11-21","true"'
    assert lines[2] == ",-2,,,,"


def test_csv_survives_quotes_and_newlines() -> None:
    """A reader gets back what was written, column names included."""
    frame = pl.DataFrame({'a"b': ['say "hi",\nthen go', None, "x"]})
    rows = list(csv.reader(io.StringIO(str(render_rows(frame, "csv")))))
    assert rows == [['a"b'], ['say "hi",\nthen go'], [""], ["x"]]


def test_table_aligns_and_keeps_all_text() -> None:
    """Numbers stand flush right, and no cell loses a character."""
    long = "a long message " * 20
    frame = pl.DataFrame({"message": [long, "short"], "errors": [1, 1234]})
    lines = str(render_rows(frame, "table")).splitlines()
    assert lines[0].endswith("errors")
    assert lines[2] == long.rstrip() + " " * 3 + "     1"
    assert lines[3].endswith("  1234")
    assert lines[-1] == "2 rows"


def test_table_folds_to_the_width() -> None:
    """With a width, long texts continue on the next line instead of being cut."""
    long = " ".join(f"word{number}" for number in range(60))
    frame = pl.DataFrame({"caller": ["figma-probe"], "message": [long], "path": ["/" + "x" * 90], "errors": [7]})
    text = str(render_rows(frame, "table", width=60))
    assert max(map(width_of, text.splitlines())) <= 60
    assert all(f"word{number}" in text for number in range(60))
    assert "".join(text.split()).count("x") >= 90


def test_rows_of_many_columns_become_blocks() -> None:
    """Where no folding makes a line of the columns, each row is a block of names and values, none of them cut."""
    frame = pl.DataFrame({f"quite_a_long_name_{n}": [f"value {n}", None] for n in range(8)})
    text = str(render_rows(frame, "table", width=80))
    first, second, end = text.split("\n\n")
    assert first.splitlines() == [f"quite_a_long_name_{n}  value {n}" for n in range(8)]
    assert second.splitlines() == [f"quite_a_long_name_{n}" for n in range(8)]
    assert end == "2 rows\n"
    long = frame.with_columns(quite_a_long_name_0=pl.lit("word " * 40))
    assert max(map(width_of, str(render_rows(long, "table", width=80)).splitlines())) <= 80
    assert "value 7" in str(render_rows(frame, "table"))


def test_a_plan_is_drawn_as_it_is() -> None:
    """The answer to EXPLAIN keeps its lines and its spaces; what could steer the terminal is shown."""
    plan = pl.DataFrame({"explain_key": ["physical_plan"], "explain_value": ["┌──┐\n│  │\x1b[2J\n└──┘\n"]})
    assert render_rows(plan, "table", width=20) == "┌──┐\n│  │\\x1b[2J\n└──┘\n"


def test_a_very_long_text_is_laid_out_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """A text is measured a few times over, not once for each of its words."""
    measured = 0

    def counted(text: str) -> int:
        nonlocal measured
        measured += len(text)
        return len(text)

    monkeypatch.setattr(monospace, "width_of", counted)
    text = "word " * 20_000
    assert monospace.fold(text, 200_000) == [text]
    assert measured < 3 * len(text)


def test_table_cannot_steer_the_terminal() -> None:
    """Escape sequences in cells and in column names are shown, not sent."""
    frame = pl.DataFrame({"a\x1b[2J": ["b\x1b[31m\nc"]})
    text = str(render_rows(frame, "table"))
    assert "\x1b" not in text
    assert r"b\x1b[31m\x0ac" in text


def test_table_says_that_rows_are_missing(wide: pl.DataFrame) -> None:
    """A cut result says so below the rows, in a table and in Markdown."""
    assert "There are more rows" in str(render_rows(wide, "table", truncated=True))
    assert "There are more rows" in str(render_rows(wide, "markdown", truncated=True))


def test_markdown_is_one_line_a_row() -> None:
    """Pipes and newlines in a cell do not break the table; numbers are aligned right."""
    frame = pl.DataFrame({"a|b": ["x|y\nz"], "n": [1]})
    assert render_rows(frame, "markdown") == "| a\\|b | n |\n| --- | ---: |\n| x\\|y z | 1 |\n"


def test_parquet_comes_back(wide: pl.DataFrame) -> None:
    """The bytes are a Parquet file with the same rows."""
    data = render_rows(wide, "parquet")
    assert isinstance(data, bytes)
    assert pl.read_parquet(data).equals(wide)


@pytest.mark.parametrize("kind", FORMATS)
def test_no_rows_are_an_answer(kind: str) -> None:
    """A frame without rows renders in every format."""
    assert render_rows(pl.DataFrame({"a": []}, schema={"a": pl.Int64}), kind) is not None


def test_unknown_format_is_refused() -> None:
    """The error names the formats."""
    with pytest.raises(AnalyzerError) as caught:
        render_rows(pl.DataFrame(), "jsn")
    assert "did you mean 'json" in caught.value.hint


@pytest.mark.parametrize("row_format", sorted({*FORMATS} - {"parquet"}))
@pytest.mark.parametrize("kind", [pl.Date, pl.Datetime("us"), pl.Datetime("ms")])
def test_a_date_that_python_does_not_know_is_an_error(
    row_format: str, kind: Any, capfd: pytest.CaptureFixture[str]
) -> None:
    """DuckDB's years go far beyond 9999; polars would panic, and print where its own code stands."""
    far = pl.DataFrame({"d": pl.Series([None, 10**18 if kind != pl.Date else 10**8]).cast(kind)})
    with pytest.raises(AnalyzerError, match="column d holds a date outside of the years 1 to 9999"):
        render_rows(far, row_format)
    near = pl.DataFrame({"d": pl.Series([None, date(1, 1, 1), date(9999, 12, 31)]).cast(kind)})
    assert "9999-12-31" in str(render_rows(near, row_format))
    assert capfd.readouterr() == ("", "")
