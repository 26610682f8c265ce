"""Ad-hoc SQL with values and frames of the caller's own: data, and no more than that."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import datetime
from pathlib import Path

import polars as pl
import pytest

from analyzer.errors import QueryError
from analyzer.store import Store, open_store
from tests import each_row
from tests.store.query.test_readonly import content

TEAMS = pl.DataFrame({"caller": ["planner", "auditor"], "team": ["red", None]})


class Stream:
    """What other libraries' frames are to us: something with an Arrow C stream."""

    def __init__(self, frame: pl.DataFrame) -> None:
        self.frame = frame

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        return self.frame.__arrow_c_stream__(requested_schema)


class Unreadable:
    """As a frame of pandas where pyarrow is not installed."""

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        raise ImportError("`Import pyarrow` failed")


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A store with three errors, in a folder of its own that is the working directory."""
    folder = tmp_path_factory.mktemp("frames")
    line = (
        '{"type":"error.classified","timestamp":"2026-11-02T08:0%d:00Z","sessionId":"s",'
        '"payload":{"caller":"%s","reason":"unknown","facts":{"message":"odd"}}}\n'
    )
    log = folder / "log.jsonl"
    log.write_text("".join(line % each for each in ((0, "planner"), (1, "planner"), (2, "auditor"))))
    with pytest.MonkeyPatch.context() as patched:
        patched.chdir(folder)
        with open_store(folder / "s.duckdb", writable=True) as store:
            store.ingest([str(log)])
        yield str(folder / "s.duckdb")


@pytest.fixture(params=["reading", "writing"])
def store(request: pytest.FixtureRequest, path: str) -> Iterator[Store]:
    """The store, opened in either way."""
    with open_store(path, writable=request.param == "writing") as opened:
        yield opened


@each_row(
    "statement, parameters",
    [
        ("select count(*) from errors where caller = ?", ["planner"]),
        ("select count(*) from errors where caller = $1", ("planner",)),
        ("select count(*) from errors where caller = $caller", {"caller": "planner"}),
        ("select count(*) from errors where occurred_at < ?", [datetime(2026, 11, 2, 8, 2)]),
        ("select count(*) from errors where list_contains(?, caller)", [["planner", "x"]]),
        ("select i from range($n) as t(i) order by i desc limit 1", {"n": 3}),
    ],
)
def test_values_go_beside_the_statement(store: Store, statement: str, parameters: list[object]) -> None:
    """By place or by name, of any type that SQL has."""
    assert store.sql(statement, parameters).item() == 2


def test_a_value_is_never_a_piece_of_sql(store: Store) -> None:
    """What would end a text that is pasted in is compared as it is."""
    assert store.sql("select ? as said", ["' or 1 = 1; --"]).item() == "' or 1 = 1; --"
    assert store.sql("from errors where caller = ?", ["x' or true --"]).is_empty()


@each_row(
    "statement, parameters, said, hint",
    [
        ("select ?", [], "not provided", "dict for $name"),
        ("select ?", None, "not provided", "dict for $name"),
        ("select $a", {"b": 1}, "excess", "dict for $name"),
        ("select 1", [1], "Expected 0, got 1", "dict for $name"),
        ("select ?", "planner", "a str holds no parameters", "dict for $name"),
        ("select ?", 5, "a int holds no parameters", "dict for $name"),
        ("select ?", [object()], "Unable to transform", ""),
    ],
)
def test_values_that_do_not_fit_are_refused(
    store: Store, statement: str, parameters: object, said: str, hint: str
) -> None:
    """In one line, with what to give."""
    with pytest.raises(QueryError, match=said) as caught:
        store.sql(statement, parameters)  # type: ignore[arg-type]
    assert "\n" not in caught.value.message
    assert hint in str(caught.value.hint)


@each_row(
    "statement, parameters",
    [
        ("from query(?)", ["delete from internal.event_v1"]),
        ("with x as (copy (select ?) to 'out.csv') from x", [1]),
        ("explain analyze delete from internal.event_v1 where event_id <> ?", ["x"]),
        ("insert into internal.store_v1 values (?, ?)", ["a", "b"]),
        ("select ?; drop view errors", [1]),
    ],
)
def test_values_open_no_way_to_write(store: Store, statement: str, parameters: list[object]) -> None:
    """A statement with values is looked at as every other one."""
    before = content()
    with pytest.raises(QueryError):
        store.sql(statement, parameters)
    assert content() == before


@pytest.mark.parametrize("function", ["read_text", "read_csv", "read_blob", "glob", "read_parquet", "query_table"])
def test_a_value_is_no_way_to_a_file(path: str, function: str) -> None:
    """Where a store is open for reading, a path is refused as it is when it stands in the statement."""
    with open_store(path) as store:
        store.register("mine", pl.DataFrame({"path": ["log.jsonl"]}))
        for value in (str(Path("log.jsonl").resolve()), "log.jsonl"):
            with pytest.raises(QueryError):
                store.sql(f"from {function}(?)", [value])
        with pytest.raises(QueryError):
            store.sql(f"from mine, lateral (from {function}(path))")


@pytest.mark.parametrize("frame", [TEAMS, Stream(TEAMS)], ids=["polars", "arrow"])
def test_a_registered_frame_is_joined(store: Store, frame: object) -> None:
    """Under its name in whatever case, as often as asked, and twice in one statement."""
    store.register("Teams", frame)
    joined = "select team, count(*) as errors from errors join TEAMS using (caller) group by all order by all"
    for _ in range(2):
        assert store.sql(joined).rows() == [("red", 2), (None, 1)]
    assert store.sql("select count(*) from teams as a join teams as b using (caller)").item() == 2


def test_a_frame_is_as_it_was_when_it_was_registered(store: Store) -> None:
    """Later changes of it do not show; registering again does."""
    frame = TEAMS.clone()
    store.register("teams", frame)
    frame[0, "team"] = "blue"
    assert store.sql("select team from teams").rows() == [("red",), (None,)]
    store.register("teams", frame)
    assert store.sql("select team from teams").rows() == [("blue",), (None,)]


def test_a_frame_is_seen_by_sql_alone(store: Store, path: str) -> None:
    """Neither stored nor in the way of the program's own tables, whatever its name."""
    for name in ("staged_event", "staged_source", "claimed", "repeated", "staged_verdict"):
        store.register(name, TEAMS)
    assert store.sql("from claimed").equals(TEAMS)
    assert store.reclassify().examined == 3
    assert store.verdicts().height == 3
    if store.writable:
        Path("more.jsonl").write_text(Path("log.jsonl").read_text().replace("2026-11-02", "2026-11-01"))
        assert store.ingest(["more.jsonl"]).total.lines == 3
    assert store.query("errors-by-caller").height == 2
    assert store.sql("from claimed").equals(TEAMS)
    store.close()
    with open_store(path) as again, pytest.raises(QueryError, match="claimed"):
        again.sql("from claimed")


def test_a_name_of_the_program_s_own_tables_is_free(store: Store) -> None:
    """Both come to their own: the table that it has left behind, and the frame."""
    for _ in range(2):
        verdicts = store.verdicts()
        store.register("trial_verdict", TEAMS)
        assert store.sql("from trial_verdict").equals(TEAMS)
        assert store.verdicts().equals(verdicts)


@each_row(
    "name, said",
    [
        ("errors", "a view of the store"),
        ("Errors_Under", "a view of the store"),
        ("select", "a meaning of its own"),
        ("LEFT", "a meaning of its own"),
        ("internal", "a meaning of its own"),
        *((name, "not a name") for name in ("", "a b", "1a", 'a"b', "main.teams", "naïve", "a" * 64, "a;drop view x")),
    ],
)
def test_names_that_clash_or_want_quotes_are_refused(store: Store, name: str, said: str) -> None:
    """And nothing is registered."""
    with pytest.raises(QueryError, match=said) as caught:
        store.register(name, TEAMS)
    assert caught.value.hint
    assert "registered" not in repr(store)


@each_row(
    "thing, said",
    [
        ("/etc/passwd", "a str is no frame"),
        (Path("log.jsonl"), "is no frame"),
        ([1, 2], "a list is no frame"),
        (TEAMS.lazy().select("none"), "cannot be read"),
        (pl.DataFrame({"o": [object()]}), "column o"),
        (pl.DataFrame({"i": pl.Series([1], dtype=pl.Int128)}), "i128"),
        (Unreadable(), "pyarrow"),
    ],
)
def test_what_is_no_frame_is_refused(store: Store, thing: object, said: str) -> None:
    """A path above all: a frame is data, and no way to a file."""
    with pytest.raises(QueryError, match=said) as caught:
        store.register("mine", thing)
    assert caught.value.hint
    with pytest.raises(QueryError, match="mine"):
        store.sql("from mine")


def test_types_of_polars_that_sql_knows_come_through(store: Store) -> None:
    """A column of nulls alone included."""
    frame = pl.DataFrame(
        {
            "moment": [datetime(2026, 11, 2)],
            "nothing": [None],
            "tag": pl.Series(["a"], dtype=pl.Categorical),
            "raw": [b"x"],
            "parts": [[1, 2]],
            "fields": [{"a": 1}],
        }
    )
    store.register("mine", frame)
    assert store.sql("from mine").row(0) == (datetime(2026, 11, 2), None, "a", b"x", [1, 2], {"a": 1})


@each_row(
    "statement",
    [
        "copy mine to 'out.csv'",
        "with x as (copy mine to 'out.csv') from x",
        "insert into mine values ('a', 'b')",
        "with x as (delete from mine returning *) from x",
        "drop view mine",
        "create table kept as from mine",
        "create or replace view errors as from mine",
        "from python_arrow_scan()",
        "from arrow_scan(1, 1, 1)",
        "from query('from mine')",
    ],
)
def test_a_registered_frame_opens_no_way_to_write(store: Store, statement: str) -> None:
    """It may be read, and nothing else."""
    store.register("mine", TEAMS)
    before = content()
    with pytest.raises(QueryError):
        store.sql(statement)
    assert content() == before
    assert store.sql("from mine").equals(TEAMS)


def test_frames_outlive_an_error_that_ends_the_connection(tmp_path: Path, native: Callable[..., bytes]) -> None:
    """A store that opens its file once more still has them."""
    (tmp_path / "log.jsonl").write_bytes(native("a", caller="planner", reason="unknown"))
    with open_store(tmp_path / "s.duckdb", writable=True) as store:
        store.register("teams", TEAMS)
        again = store._reopen()
        assert again is not None
        again()
        store.ingest([str(tmp_path / "log.jsonl")])
        assert store.sql("select team from errors join teams using (caller)").item() == "red"
