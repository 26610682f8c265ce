"""The tables of a lake are those of the DuckDB store."""

import datetime

import pytest

pytest.importorskip("pyarrow", reason="the extra `lake` is not installed")

from analyzer.lake.layout import DAY, JOURNAL, tables


def test_every_table_of_the_store_is_a_table_of_the_lake():
    """With the journal beside them, and the events in folders by day."""
    found = tables()
    assert {"event_v1", "facts_v1", "source_v1", "verdict_v1", "quarantine_v1", JOURNAL} <= set(found)
    assert [name for name, table in found.items() if table.partition] == ["event_v1"]
    assert found["source_v1"].columns.names[:3] == ["source_id", "path", "format"]


def test_rows_get_the_day_of_their_moment():
    """The last microsecond of a day is one of that day, and so is one before 1970."""
    import pyarrow as pa

    table = tables()["event_v1"]
    moments = [datetime.datetime(2026, 11, 23, 23, 59, 59, 999999), datetime.datetime(1969, 12, 31, 23, 0)]
    columns = {field.name: pa.nulls(2, field.type) for field in table.columns}
    rows = table.rows(pa.table({**columns, "occurred_at": pa.array(moments, pa.timestamp("us"))}))
    assert rows.schema == table.schema
    assert rows[DAY].to_pylist() == [datetime.date(2026, 11, 23), datetime.date(1969, 12, 31)]
