"""Every view and every query, on both engines over the same rows: equal in values, types and order."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import date, datetime
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from polars.testing import assert_frame_equal

pytest.importorskip("pyspark", reason="the extra `spark` is not installed")

from analyzer.analysis import Overview, check, handle, overview, window
from analyzer.analysis.timeline import timeline
from analyzer.cli import call
from analyzer.errors import AnalyzerError, LimitError, QueryError, StoreError
from analyzer.lake import answers
from analyzer.lake.location import Lake, lake_of
from analyzer.lake.moving import up
from analyzer.lake.session import java, session
from analyzer.lake.store import LakeStore
from analyzer.store import CallerDays, Selection, Store, catalogue, open_store, views
from tests import REPOSITORY

pytestmark = [
    pytest.mark.skipif(java() is None, reason="THE LAKE IS NOT TESTED: there is no Java here"),
    pytest.mark.filterwarnings("default"),
]
SMALL = {
    "spark.driver.memory": "1g",
    # Few questions on few rows: a second compiler and collectors in parallel cost more than they give.
    "spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC",
    "spark.sql.shuffle.partitions": "1",
    "spark.sql.codegen.wholeStage": "false",
    "spark.sql.adaptive.enabled": "false",
}
WINDOW = {"since": datetime(2026, 11, 3), "until": datetime(2026, 11, 9, 12)}
OTHERS = {
    "detection-late": {"judged_at": datetime(2026, 11, 1)},
    "unknown-share": {"timezone": "Asia/Kathmandu"},
    "detection-groups": {"timezone": "Asia/Kathmandu"},
    "detection-hours": {"asked": '[{"place": 1, "since": "2026-11-03T00:00:00", "until": "2026-11-05T00:00:00"}]'},
    "detection-cost": {
        "asked": '[{"place": 1, "callers": ["figma-probe"]}, {"place": 2, "since": "2026-11-04 00:00:00"}]'
    },
}
"""Parameters beside the window."""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where a store of the samples is, judged again and checked, and a lake of it."""
    made = tmp_path_factory.mktemp("answers")
    with open_store(made / "fleet.duckdb", writable=True) as store:
        store.ingest([str(REPOSITORY / "sample_events")])
        store.reclassify(apply=True)
        night = check(store, until="2026-11-10")
        handle(store, night.findings[0].id, "acknowledged", note="the provider knows")
    up(str(made / "fleet.duckdb"), lake_of(f"delta:{made}/fleet"))
    return made


@pytest.fixture(scope="module")
def store(folder: Path) -> Iterator[Store]:
    """The store."""
    with open_store(folder / "fleet.duckdb") as opened:
        yield opened


@pytest.fixture(scope="module")
def lake(folder: Path) -> LakeStore:
    """The lake, on the one session of all these tests."""
    found: Lake = lake_of(f"delta:{folder}/fleet", "local[2]")
    session(found, SMALL).conf.set("spark.sql.shuffle.partitions", "1")
    return LakeStore(found)


def test_every_view_is_the_same(store: Store, lake: LakeStore) -> None:
    """Rows that no order is promised for are sorted by all of their columns."""
    for name, header in views().items():
        if not header.params:
            here, there = store.sql(f"select * from {name}"), lake.view(name)
            assert here.schema == there.schema, name
            assert here.height, name
            assert here.sort(here.columns).equals(there.sort(here.columns)), name


@pytest.mark.parametrize("name", sorted(catalogue()))
def test_every_query_is_the_same(store: Store, lake: LakeStore, name: str) -> None:
    """Of all of history, of a window, and in another time zone where it has one."""
    known = {param.name for param in catalogue()[name].header.params}
    window = {key: value for key, value in WINDOW.items() if key in known}
    for given in (OTHERS.get(name, {}), window) if window or name in OTHERS else ({},):
        here, there = store.query(name, **given), lake.query(name, **given)
        assert here.schema == there.schema
        assert here.equals(there), pl.concat([here, there])


@pytest.mark.parametrize("name", Selection.__slots__)
def test_a_part_of_a_lake_is_that_of_the_store(store: Store, lake: LakeStore, name: str) -> None:
    """Chosen by each of the names, of views that have no such column, too; afterwards the whole lake answers again."""
    whole = lake.query("errors-by-reason")
    value = store.sql(f"select {name} from errors where {name} is not null order by all limit 1").item()
    only = Selection(**{name: value})
    with store.selecting(only), lake.selecting(only):
        for query in ("errors-by-reason", "overview-totals", "tools-by-tool"):
            assert store.query(query).equals(lake.query(query)), query
        assert store.query("errors-by-reason").height
    assert whole.equals(lake.query("errors-by-reason"))


def test_the_commands_print_the_same_of_both(folder: Path, capsys: pytest.CaptureFixture[str], lake: LakeStore) -> None:
    """`query` and `unknowns`, byte for byte."""
    for command in (["query", "errors-by-caller", "--json"], ["unknowns", "--json"]):
        said = []
        for name in (f"{folder}/fleet.duckdb", f"delta:{folder}/fleet"):
            assert call([*command, "--store", name]) == 0
            said.append(capsys.readouterr().out)
        assert said[0] == said[1]


def test_what_a_query_refuses_a_lake_refuses(lake: LakeStore) -> None:
    """A time zone that is none."""
    with pytest.raises(QueryError):
        lake.query("unknown-share", timezone="Mars/Olympus")


def test_a_file_that_goes_while_a_lake_is_open_is_told(folder: Path, lake: LakeStore, tmp_path: Path) -> None:
    """As a damaged lake, not as a query that is wrong."""
    up(str(folder / "fleet.duckdb"), gone := lake_of(f"delta:{tmp_path}/gone", "local[2]"))
    opened = LakeStore(gone)
    for path in (tmp_path / "gone" / "quarantine_v1").glob("*.parquet"):
        path.unlink()
    with pytest.raises(StoreError, match="cannot be read"):
        opened.query("quarantine-lines")


def test_a_view_that_could_not_be_made_is_made_for_the_next_who_asks(
    lake: LakeStore, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Views are made as they are asked for, and that may be stopped at any moment."""
    real, stopped = answers.stored, iter([LimitError("not now")])

    def stored(*given: Any) -> Any:
        for error in stopped:
            raise error
        return real(*given)

    monkeypatch.setattr(answers, "stored", stored)
    again = LakeStore(lake_of(f"delta:{folder}/fleet", "local[2]"))
    with pytest.raises(LimitError):
        again.query("errors-by-reason")
    assert again.query("errors-by-reason").equals(lake.query("errors-by-reason"))


def test_the_report_is_the_same(store: Store, lake: LakeStore) -> None:
    """Findings with all that is behind them, tables and figures, in days of a zone that is no whole hours off."""
    chosen = window("2026-11-03", "2026-11-10", None, "Asia/Kathmandu")
    here = _reported(overview(store, chosen))
    assert here["findings"]
    assert _reported(overview(lake, chosen)) == here


def test_a_report_on_a_part_is_the_same(store: Store, lake: LakeStore) -> None:
    """Of one caller, all time."""
    only = Selection(caller="figma-probe")
    assert _reported(overview(lake, only=only)) == _reported(overview(store, only=only))


def test_sums_are_the_same(store: Store, lake: LakeStore) -> None:
    """What executors count by day and caller, message by message, and the rows behind it."""
    ruleset = store.judge_history()
    assert lake.judge_history() == ruleset
    here, there = (one.daily_sums(date(2026, 11, 10), "America/Los_Angeles", ruleset) for one in (store, lake))
    for name, frame in here.frames.items():
        assert_frame_equal(frame.sort(frame.columns), there.frames[name])
    callers = [CallerDays(caller, date(2026, 11, 2), date(2026, 11, 10)) for caller in (None, "figma-probe")]
    for one in callers:
        assert_frame_equal(here.groups([one]), there.groups([one]))
        assert here.groups([one]).height


@pytest.mark.parametrize(
    "statement",
    [
        "from errors select caller, reason, count(*) as errors group by all order by all",
        (
            "with late as (select * from retries where waited_seconds > 1)"
            " select outcome, count(*) as n from late group by 1 order by 1"
        ),
        "select reason, count(*) as n from errors_under('x') group by reason order by n desc, reason;",
        "select caller, count(*), max(occurred_at) from errors group by all order by all",
        "select outcome, caller from (select * from retries order by all desc) where (true) order by all desc",
        "describe errors",
        "describe select count(*) from retries",
        "select caller, '${env:HOME}', '${spark.driver.host}' from errors order by all",
        "with t as (select false as x) select count(*) as n from t where (x)",
        (
            "select date_trunc('minute', occurred_at), date_trunc('hour', occurred_at), date_trunc('day', occurred_at),"
            " date_trunc('week', occurred_at), date_trunc('month', occurred_at), date_trunc('year', occurred_at)"
            " from events order by all"
        ),
        (
            "select abs(-attempts), attempts % 2, upper(caller), lower(caller), trim(' ' || caller || ' '),"
            " contains(caller, 'a'), caller like '%a%', caller ilike '%A%', attempts between 1 and 2"
            " from retries order by all"
        ),
        (
            "select caller, rank() over (order by caller), dense_rank() over (order by caller),"
            " lag(caller) over (order by caller, occurred_at), lead(caller) over (order by caller, occurred_at)"
            " from errors order by all"
        ),
        (
            "select outcome, count(distinct caller), sum(waited_seconds), count(*) / 3 from retries"
            " group by all order by all"
        ),
        "select caller, case when occurred_at < '2026-11-05' then 'early' else 'late' end from errors order by all",
        (
            "select e.caller, count(*) as n from errors e join retries r using (session_id) group by e.caller"
            " having count(*) > 1 order by all nulls first limit 5 offset 1"
        ),
        "select session_id from errors right join (select session_id from retries) using (session_id) order by all",
        (
            "select session_id, n from sessions full join (select 'x' as session_id, 1 as n) using (session_id)"
            " order by all"
        ),
        "select caller from errors except select caller from retries order by 1",
        "select caller from errors intersect select caller from retries order by 1",
        "select occurred_at - interval 1 day, occurred_at + interval 1 month from errors order by all",
        "select count(*) from errors e semi join retries r on e.session_id = r.session_id",
        "select count(*) from errors e anti join retries r on e.session_id = r.session_id",
        "with t(a, b) as (select caller || '/' || reason, 1 from errors) select a, b from t order by 1",
        "show tables",
        "select column_name, comment from duckdb_columns() where table_name = 'errors'",
    ],
)
def test_sql_of_ones_own_is_the_same(store: Store, lake: LakeStore, statement: str) -> None:
    """Over views, macros and the statement's own names."""
    assert_frame_equal(lake.run_sql(statement).frame, store.sql(statement))


def test_columns_of_one_name_are_told_apart_as_in_a_file(
    folder: Path, capsys: pytest.CaptureFixture[str], lake: LakeStore
) -> None:
    """The command shows both."""
    said = []
    for name in (f"{folder}/fleet.duckdb", f"delta:{folder}/fleet"):
        assert (
            call(["sql", "select caller, caller, 1, 1 from errors order by 1 limit 2", "--json", "--store", name]) == 0
        )
        said.append(capsys.readouterr().out)
    assert said[0] == said[1]


def test_a_timeline_is_the_same(store: Store, lake: LakeStore) -> None:
    """Of a session, a finding and a chain, with the lines of its logs, and by the beginning of an id."""
    chosen = [
        store.sql(f"select {column} as id from {view} where {column} is not null order by 1 limit 1").item()
        for view, column in (("sessions", "session_id"), ("findings", "finding_id"), ("retries", "operation"))
    ]
    for name in (chosen[0], chosen[1][:6], chosen[2]):
        here, there = timeline(store, name), timeline(lake, name)
        assert here.happenings
        assert any(one.excerpt for one in here.happenings)
        assert here.to_dict() == there.to_dict()
    said = []
    for each in (store, lake):
        with pytest.raises(AnalyzerError, match="no session, finding or operation") as found:
            timeline(each, f"{chosen[0][:-1]}x")
        said.append(found.value.hint)
    assert said[0].startswith("did you mean session")
    assert said[0] == said[1]


def test_sql_is_cut_at_its_limit(lake: LakeStore) -> None:
    """And says so."""
    answer = lake.run_sql("select session_id from errors order by 1", 3)
    assert (answer.frame.height, answer.truncated) == (3, True)
    assert not lake.run_sql("select session_id from errors order by 1 limit 2", 3).truncated
    assert lake.run_sql("select 1 as one", 99_999_999_999).frame.item() == 1


@pytest.mark.parametrize(
    "statement",
    [
        "select 1; select 2",
        "delete from errors",
        "create table x as select 1",
        "copy errors to '/tmp/x'",
        "explain select 1",
        "summarize errors",
        "describe select * from read_csv('/etc/passwd')",
        "describe '/etc/passwd'",
        "from nothing",
        "select nothing from errors",
        "select * from 'x.parquet'",
        'select * from parquet."/etc/passwd"',
        "select * from text.`/etc/passwd`",
        "select * from read_csv('/etc/passwd')",
        "select * from internal.event_v1",
        "select * from internal_event_v1",
        "select reflect('java.lang.System', 'getenv')",
        "select java_method('java.lang.Runtime', 'getRuntime')",
        "select",
        "select 'x",
        "select date_diff('day', min(occurred_at), max(occurred_at)) from errors",
        "select dayofweek(occurred_at) from errors",
        "select caller from errors where caller = any(['x'])",
        "select list(caller order by caller) from errors",
        "select list(null) from errors",
        "select cast(1.7 as bigint)",
        "select cast(occurred_at as varchar) from errors",
        "select cast(occurred_at as date) - date '2026-11-01' from errors",
        "select occurred_at at time zone 'Europe/Berlin' from errors",
        "select quantile_cont(attempts, 0.5) from retries",
        "select regexp_replace(caller, 'a', '') from errors",
        "select substr(caller, 0, 2) from errors",
        "select max(occurred_at) - min(occurred_at) from errors",
        "select round(12345, -2)",
        "select left(caller, -2) from errors",
        "select caller like 'a\\%' from errors",
        "select [1, 2][-1]",
        "select count(*) from errors where occurred_at < '2026-11-05T00:00:00+02:00'",
        "select sum(attempts) over (order by started_at rows between 1 preceding and current row) from retries",
        "select * from errors join retries using (session_id)",
        "select e.* from errors e right join retries r using (session_id)",
        "select * from errors natural join retries",
        "select * from (select 1 as a) positional join (select 2 as b)",
        (
            "select caller from errors asof join (select session_id, started_at as occurred_at from sessions)"
            " using (session_id, occurred_at)"
        ),
        "select caller from errors using sample 3",
        "select distinct on (caller) caller, reason from errors order by all",
        "select caller from errors union by name select reason, caller from errors",
        "select caller || waited_seconds from retries",
        "select caller || '' from (select attempts as caller from retries)",
        "select mode(caller) from errors",
        "select (1, 2) < (1, null)",
        "with recursive t(n) as (select 1 union all select n + 1 from t) select count(*) from t",
    ],
)
def test_sql_that_is_no_query_over_the_views_is_refused(lake: LakeStore, statement: str) -> None:
    """It writes, reads files or tables that are not shown, runs code, or cannot be understood."""
    with pytest.raises(QueryError):
        lake.run_sql(statement)


def test_describing_opens_no_file(lake: LakeStore, tmp_path: Path) -> None:
    """Its first line would be the names of columns."""
    (tmp_path / "secret.csv").write_text("a_secret\n1\n", "utf-8")
    for statement in ("describe select * from '{}'", "describe from read_csv('{}')", "select * from read_csv('{}')"):
        with pytest.raises(QueryError) as refused:
            lake.run_sql(statement.format(tmp_path / "secret.csv"))
        assert "a_secret" not in str(refused.value)


def test_a_part_that_fails_half_way_leaves_the_whole(lake: LakeStore, monkeypatch: pytest.MonkeyPatch) -> None:
    """Who asks next is not told of a part."""
    whole = lake.query("errors-by-caller")
    make_all, calls = answers.Answers._make_all, iter((False, True))

    def failing(self: answers.Answers) -> None:
        if next(calls):
            self._make(next(iter(self._waiting)))
            raise QueryError("a hiccup", "")
        make_all(self)

    with monkeypatch.context() as patched, pytest.raises(QueryError, match="a hiccup"):
        patched.setattr(answers.Answers, "_make_all", failing)
        with lake.selecting(Selection(caller="figma-probe")):
            pass
    assert whole.height > 1
    assert whole.equals(lake.query("errors-by-caller"))


def test_sql_is_stopped_at_its_time(lake: LakeStore) -> None:
    """The answer is not waited for, and the session goes on; what a task has begun with it ends by itself."""
    long = "select count(*) as n from events a, events b, events c where a.event_id || b.event_id <> c.event_id"
    with pytest.raises(LimitError, match=r"stopped after 0\.5 s"):
        lake.run_sql(long, None, 0.5)
    assert lake.run_sql("select 1 as one").frame.item() == 1


def _reported(found: Overview) -> dict[str, Any]:
    return {name: value for name, value in found.to_dict().items() if name != "generated_at"}
