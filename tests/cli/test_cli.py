"""The command line's contract: what goes to stdout, what to stderr, and the exit code."""

from __future__ import annotations

import csv
import fcntl
import inspect
import io
import json
import os
import re
import signal
import stat
import subprocess
import sys
from pathlib import Path

import click
import polars as pl
import pytest

import analyzer
from analyzer.cli import COMMANDS, command_named
from analyzer.events import EventLog
from tests import each_row
from tests.cli.conftest import Run


def test_help_lists_every_command_and_each_has_its_own(run: Run) -> None:
    """-h and --help, with examples."""
    for arguments in (["--help"], ["-h"], *[[name, "--help"] for name in COMMANDS]):
        done = run(*arguments, env={"COLUMNS": "80"})
        assert "Usage: analyzer" in done.stdout
        assert "  analyzer " in done.stdout
        assert [line for line in done.stdout.splitlines() if len(line) > 80] == []
        assert (done.returncode, done.stderr) == (0, "")


@each_row("name", COMMANDS)
def test_help_is_a_sentence_an_example_and_little_more(name: str) -> None:
    """The first paragraph is one sentence, the second one has examples, and the text can be read in half a minute."""
    command = command_named(name)
    inner = command.commands.values() if isinstance(command, click.Group) else ()
    for each in (command, *inner):
        sentence, example, *rest = inspect.cleandoc(each.help or "").split("\n\n")
        assert re.fullmatch(r"[A-Z][^.]*(?:\.\w[^.]*)*\.", " ".join(sentence.split())), sentence
        assert example.startswith("\b\n"), each.name
        assert "analyzer " in example
        assert len(" ".join(rest).split()) <= 110, each.name


@pytest.mark.parametrize(("words", "code"), [(["report", "no-such-path"], 3), (["--help"], 0)])
def test_no_reader_changes_no_exit_code(words: list[str], code: int) -> None:
    """Where nobody reads what a command says, help or complaint, its exit code is the same: 1 would be findings."""
    reading, writing = os.pipe()
    os.close(reading)
    command = [sys.executable, "-c", "from analyzer.cli import main; main()", *words]
    with subprocess.Popen(command, stdout=writing, stderr=writing) as done:
        os.close(writing)
        assert done.wait(60) == code


def test_ingest_accounts_for_every_line(run: Run, samples: Path) -> None:
    """The JSON of the contract, twice: the second run adds nothing; with `--strict` bad lines are exit code 4."""
    line = ("ingest", str(samples), "--store", "s.duckdb", "--json", "--strict")
    read, again = run(*line), run(*line)
    assert (read.returncode, again.returncode) == (4, 0)
    first, second = json.loads(read.stdout), json.loads(again.stdout)
    for figures in (first, *first["sources"]):
        parts = ("event_lines", "duplicates", "quarantined", "blank", "skipped")
        assert figures["lines"] == sum(figures[part] for part in parts)
    assert first["schema"] == "analyzer.ingest/1"
    assert first["events"] > 0
    assert (second["events"], second["lines"], second["unchanged"]) == (0, 0, first["files"])


def test_ingest_tells_a_person_what_it_did(run: Run, samples: Path) -> None:
    """Figures, quarantine, formats not read yet."""
    said = run("ingest", str(samples)).stdout
    assert "new events → analyzer.duckdb" in said
    assert "analyzer query quarantine-lines" in said
    (files, lines) = re.findall(r"^(\d+) files, (\d+) new lines", said)[0]
    assert re.search(rf"Read \d+ of {lines} lines in {files} files", run("report").stdout)


def test_ingest_tells_of_a_line_that_someone_is_still_writing(run: Run, tmp_path: Path) -> None:
    """It waits for its end; the lock says that its writer lives."""
    with EventLog(tmp_path / "logs") as log:
        log.append("relay.triggered")
    (path,) = (tmp_path / "logs").iterdir()
    with path.open("ab") as handle:
        handle.write(b'{"v":1,"id":"')
        fcntl.flock(handle, fcntl.LOCK_SH)
        handle.flush()
        assert "unfinished last line waits" in run("ingest", str(path)).stdout


def test_ingest_reads_standard_input(run: Run, samples: Path) -> None:
    """A dash, as everywhere; the same input twice is no second event."""
    text = (samples / "healthy-week.jsonl").read_text("utf-8")
    first = json.loads(run("ingest", "-", "--store", "s.duckdb", "--json", stdin=text).stdout)
    second = json.loads(run("ingest", "-", "--store", "s.duckdb", "--json", stdin=text).stdout)
    assert first["events"] == first["lines"] > 0
    assert (second["events"], second["duplicates"]) == (0, first["lines"])


def test_ingest_follows_a_growing_log(tmp_path: Path) -> None:
    """New lines are read while it runs; an interrupt ends it with 130."""
    log = EventLog(tmp_path / "telemetry")
    log.append("relay.triggered", {"step_id": "a"})
    command = (
        "from analyzer.cli import main; from analyzer.cli.commands import reading; reading.POLL_SECONDS = 0.1; main()"
    )
    arguments = ["ingest", "telemetry", "--follow", "--json", "--store", "s.duckdb"]
    process = subprocess.Popen(
        [sys.executable, "-c", command, *arguments],
        cwd=tmp_path,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    first = json.loads(process.stdout.readline())
    log.append("relay.triggered", {"step_id": "b"})
    second = json.loads(process.stdout.readline())
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=30)
    assert (first["events"], second["events"]) == (1, 1)
    assert process.returncode == 130
    assert err.strip() == "analyzer: interrupted"


def test_a_second_ingest_is_told_to_come_back(run: Run, samples: Path, tmp_path: Path) -> None:
    """Exit 75 while another process writes."""
    from analyzer.store import open_store

    with open_store(tmp_path / "s.duckdb", writable=True):
        done = run("ingest", str(samples), "--store", "s.duckdb")
    assert done.returncode == 75
    assert "is being written by process" in done.stderr


@pytest.mark.parametrize(
    ("arguments", "code", "message", "hint"),
    [
        (["report", "missing-folder"], 3, "missing-folder: no such file or folder", "check the spelling"),
        (["report", "empty"], 3, "empty: nothing to read in this folder", "point at a folder"),
        (["report", "--store", "none.duckdb"], 3, "no store at", "analyzer ingest PATH"),
        (["check", "--store", "none.duckdb"], 3, "no store at", "analyzer ingest PATH"),
        (["report", "--since", "tomorow"], 2, "not a time: 'tomorow'", "2026-11-01"),
        (["report", "--since", "7d", "--last", "7d"], 2, "both --since and --last", "give one"),
        (["report", "-z", "Mars"], 2, "unknown time zone 'Mars'", "Europe/Berlin"),
        (["report", "x", "-o", "no/such/dir/r.html"], 3, "no such file", ""),
        (["report", "log.jsonl", "-o", "no/such/dir/r.html"], 3, "cannot be written", "--output"),
        (["reprot"], 2, "unknown command 'reprot'", "did you mean 'report'"),
        (["report", "--sinse", "7d"], 2, "No such option", "--help"),
        (["ingest"], 3, "no agent has left logs on this machine", "name a log: analyzer report PATH"),
        (["query"], 2, "no query named", "--list"),
        (["query", "errors-by-resaon"], 2, "unknown query 'errors-by-resaon'", "did you mean 'errors-by-reason', "),
        (["query", "errors-by-reason", "-p", "caller"], 2, "not KEY=VALUE", "-p caller="),
        (["query", "quarantine-lines", "--since", "7d"], 2, "has no since", "leave"),
        (["sql", "selec 1"], 2, "syntax error", "check the SQL"),
        (["sql", "select x from errors"], 2, '"x" not found', ""),
        (["sql", "drop view errors"], 2, "only reading is possible", "select"),
        (["classify"], 2, "nothing to classify", "JSON lines"),
        (["classify", "x", "--at", "noon"], 2, "--at", "2026-11-21T08:15:30Z"),
        (["emit", "a.b", "novalue"], 2, "not KEY=VALUE", "caller=figma-probe"),
        (["emit", "a.b", "--log", "log.jsonl"], 3, "could not be written", "permissions"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else None,
)
def test_bad_input_is_one_line_with_a_hint_and_the_right_exit_code(
    run: Run, store: str, tmp_path: Path, arguments: list[str], code: int, message: str, hint: str
) -> None:
    """Never a traceback."""
    (tmp_path / "empty").mkdir()
    (tmp_path / "log.jsonl").write_text(
        '{"v":1,"id":"a","type":"a.b","timestamp":"2026-01-01","sessionId":"s","payload":{}}\n'
    )
    done = run(*arguments, env={"ANALYZER_STORE": store} if arguments[0] in {"query", "sql"} else {})
    assert done.returncode == code
    assert "Traceback" not in done.stderr
    assert message in done.stderr
    assert hint in done.stderr
    assert [line for line in done.stderr.splitlines() if line.startswith("analyzer: ")]
    assert done.stdout == "" or "log.jsonl" in arguments


def test_one_bad_path_does_not_stop_the_others(run: Run, samples: Path) -> None:
    """The report is made, the problem told, and the exit code says that not all is in."""
    done = run("report", "missing", str(samples / "unknown-spike.jsonl"), "-f", "markdown")
    assert done.returncode == 3
    assert "figma-probe" in done.stdout
    assert "analyzer: missing: no such file or folder" in done.stderr


def test_query_lists_the_catalogue(run: Run) -> None:
    """Names, what they answer, parameters; with a name the columns too. No store is needed."""
    listing = run("query", "--list").stdout
    assert "errors-by-reason" in listing
    assert "-p since=null" in listing
    assert "unknown_share" in run("query", "unknown-share", "--list").stdout
    assert "from errors" in run("query", "errors-by-reason", "--sql").stdout


def test_query_answers_in_every_format(run: Run, store: str, tmp_path: Path) -> None:
    """The same rows as table, JSON, JSON lines, CSV, Markdown and Parquet."""
    arguments = ["query", "errors-by-reason", "--store", store]
    data = json.loads(run(*arguments, "--json").stdout)
    assert (data["schema"], data["truncated"]) == ("analyzer.query/1", False)
    reasons = [row["reason"] for row in data["rows"]]
    assert list(data["rows"][0]) == data["columns"]
    assert [json.loads(line) for line in run(*arguments, "-f", "jsonl").stdout.splitlines()] == data["rows"]
    rows = list(csv.DictReader(io.StringIO(run(*arguments, "-f", "csv").stdout)))
    assert [row["reason"] for row in rows] == reasons
    assert [row["errors"] for row in rows] == [str(row["errors"]) for row in data["rows"]]
    assert run(*arguments, "-f", "markdown").stdout.startswith("|")
    run(*arguments, "-f", "parquet", "-o", "out.parquet")
    assert pl.read_parquet(tmp_path / "out.parquet")["reason"].to_list() == reasons
    table = run(*arguments).stdout
    assert all(reason in table for reason in reasons)


def test_query_takes_parameters(run: Run, store: str) -> None:
    """Window options and -p narrow the rows."""
    data = json.loads(
        run(
            "query",
            "unknown-messages",
            "-p",
            "caller=figma-probe",
            "-p",
            "limit=2",
            "--last",
            "520w",
            "--store",
            store,
            "-j",
        ).stdout
    )
    assert len(data["rows"]) == 2
    assert {row["caller"] for row in data["rows"]} == {"figma-probe"}


def test_sql_answers_and_tells_when_it_cut(run: Run, store: str) -> None:
    """A limit is never silent."""
    done = run("sql", "select event_id from events order by 1", "--limit", "3", "--json", "--store", store)
    data = json.loads(done.stdout)
    assert (data["schema"], data["truncated"], len(data["rows"])) == ("analyzer.sql/1", True, 3)
    assert "cut after 3 rows" in done.stderr
    everything = json.loads(run("sql", "-", "--limit", "0", "--json", "--store", store, stdin="from events").stdout)
    assert everything["truncated"] is False
    assert len(everything["rows"]) > 200


def test_sql_gives_wide_integers_as_numbers(run: Run, store: str) -> None:
    """DuckDB's sums are HUGEINT."""
    done = run(
        "sql", "select sum(seq) as s, 12345678901234567890123456789012345678 as h from events", "-j", "--store", store
    )
    row = json.loads(done.stdout)["rows"][0]
    assert isinstance(row["s"], int)
    assert row["h"] == 12345678901234567890123456789012345678


def test_classify_answers_line_for_line(run: Run) -> None:
    """Objects, texts, blank lines and nonsense: one line out for one line in, in order."""
    lines = [
        '{"status": 429, "headers": {"retry-after": "12"}}',
        "connection reset by peer",
        "",
        "{",
        "[1, 2]",
        '"Overloaded"',
    ]
    done = run("classify", "-", stdin="\n".join(lines) + "\n")
    answers = [json.loads(line) for line in done.stdout.splitlines()]
    assert len(answers) == len(lines)
    assert done.returncode == 0
    keys = (
        "reason detail retryable action party rule ruleset confidence retry_after_seconds reset_at "
        "current_tokens max_tokens"
    )
    assert all(set(answer) == {*keys.split(), "provider", "model"} for answer in answers)
    assert (answers[0]["reason"], answers[0]["retry_after_seconds"]) == ("rate_limited", 12)
    assert answers[1]["reason"] == "network_transient"
    assert answers[2]["detail"] == "no_detail"


def test_classify_resolves_relative_times_against_the_records_own(run: Run) -> None:
    """Never against the clock."""
    record = {
        "message": "You've hit your session limit · resets 3pm (America/Bogota)",
        "timestamp": "2026-11-03T10:00:00Z",
    }
    answer = json.loads(run("classify", "-", stdin=json.dumps(record) + "\n").stdout)
    assert answer["reset_at"] == "2026-11-03T20:00:00Z"


def test_classify_believes_no_reset_far_ahead_of_now(run: Run) -> None:
    """A text without a time happened by now at the latest: what it names in two hundred years is no reset."""
    answer = json.loads(run("classify", "Claude AI usage limit reached|9999999999").stdout)
    assert (answer["reason"], answer["reset_at"]) == ("rate_limited", None)


def test_classify_takes_a_text_with_what_is_known_beside_it(run: Run) -> None:
    """Status and exit code refine a text; stdout of a good run is only prose."""
    assert json.loads(run("classify", "--status", "529", "x").stdout)["detail"] == "overloaded"
    text = "Claude AI usage limit reached|1770843600"
    assert json.loads(run("classify", "--exit-code", "1", text).stdout)["detail"] == "usage_limit"
    assert json.loads(run("classify", "--exit-code", "0", text).stdout)["reason"] == "unknown"


def test_emit_appends_one_event(run: Run, tmp_path: Path) -> None:
    """The id on stdout, the event on the log, secrets out of it."""
    done = run(
        "emit",
        "relay.triggered",
        "step_id=implement",
        "token_usage_percent=82",
        "note=ghp_" + "a1B2" * 9,
        "--session",
        "s-1",
    )
    (path,) = (tmp_path / "telemetry").iterdir()
    written = json.loads(path.read_text("utf-8"))
    assert written["id"] == done.stdout.strip()
    assert (written["sessionId"], written["payload"]["token_usage_percent"]) == ("s-1", 82)
    assert "ghp_" not in path.read_text("utf-8")
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_emit_classifies_an_error_that_has_no_reason(run: Run, tmp_path: Path) -> None:
    """A hook passes what it has; the shared classifier says what it is."""
    run("emit", "error.classified", "caller=figma-probe", "status=429", "message=slow down", "--log", "log")
    (path,) = (tmp_path / "log").iterdir()
    payload = json.loads(path.read_text("utf-8"))["payload"]
    assert (payload["reason"], payload["caller"]) == ("rate_limited", "figma-probe")
    assert payload["facts"] == {"status": 429, "message": "slow down"}


def test_emit_shows_the_classifier_the_recorded_failure(run: Run, tmp_path: Path) -> None:
    """A hook that knows how a step failed and nothing else is believed; the word stays a key of the event."""
    run("emit", "error.classified", "caller=plan", "failure_reason=context_exhaustion", "message=gone", "--log", "log")
    (path,) = (tmp_path / "log").iterdir()
    payload = json.loads(path.read_text("utf-8"))["payload"]
    assert (payload["reason"], payload["failure_reason"]) == ("context_overflow", "context_exhaustion")


LINES = """\
{"type": "relay.triggered", "payload": {"step_id": "plan"}, "session": "s-7", "timestamp": "2026-11-20T08:00:00Z"}

{"type": "error.classified", "payload": {"caller": "probe", "status": 429, "classification": "x"}}
{"type": "relay.resumed", "payload": {"note": "ghp_%s"}, "sessionId": "s-8"}
""" % ("a1B2" * 9)


@pytest.mark.parametrize("arguments", [("--from", "events.jsonl"), ("--from", "-"), ("-",)])
def test_emit_appends_the_events_of_a_file(run: Run, tmp_path: Path, arguments: tuple[str, ...]) -> None:
    """Each line an event with its own session and time, judged and redacted as a single one; the ids on stdout."""
    (tmp_path / "events.jsonl").write_text(LINES, "utf-8")
    done = run("emit", *arguments, "--session", "s-1", "--strict", stdin=LINES)
    assert (done.returncode, done.stderr) == (0, "")
    (path,) = (tmp_path / "telemetry").iterdir()
    written = [json.loads(line) for line in path.read_text("utf-8").splitlines()]
    assert [each["id"] for each in written] == done.stdout.split()
    assert [each["sessionId"] for each in written] == ["s-7", "s-1", "s-8"]
    assert written[0]["timestamp"] == "2026-11-20T08:00:00.000Z"
    assert (written[1]["payload"]["reason"], written[1]["payload"]["caller"]) == ("rate_limited", "probe")
    assert "ghp_" not in path.read_text("utf-8")


BAD_LINES = {
    '{"type": ': "no JSON",
    "[" * 100_000: "nested too deeply",
    "null": "no JSON object",
    '"a.b"': "no JSON object",
    "{}": "it has no type",
    '{"type": 7}': "it has no type",
    '{"type": "a.b", "payload": [1]}': "its payload is no object",
    '{"type": "a.b", "session": 7}': "its session is no text",
    '{"type": "a.b", "timestamp": "soon"}': "its timestamp is no ISO 8601 time",
}


def test_emit_tells_each_line_that_is_no_event(run: Run, tmp_path: Path) -> None:
    """With its number and why; the others are written, and --strict makes the exit code 4."""
    lines = [*BAD_LINES, '{"type": "relay.resumed"}']
    (tmp_path / "e.jsonl").write_text("\n".join(lines), "utf-8")
    for strict, code in (((), 0), (("--strict",), 4)):
        done = run("emit", "--from", "e.jsonl", *strict)
        assert (done.returncode, len(done.stdout.split())) == (code, 1)
        told = done.stderr.splitlines()
        for number, (line, why) in enumerate(zip(told, BAD_LINES.values(), strict=False), 1):
            assert line.startswith(f"e.jsonl:{number}: ")
            assert why in line
        assert told[-1] == f"e.jsonl: 1 events written, {len(BAD_LINES)} lines left out"
    (tmp_path / "e.jsonl").write_bytes(b"\xff\xfe\n")
    done = run("emit", "--from", "e.jsonl", "--strict")
    assert (done.returncode, done.stdout) == (3, "")
    assert "e.jsonl:1: no UTF-8" in done.stderr
    assert run("emit", "--from", "none.jsonl").returncode == 3
    for wrong in ((), ("a.b", "--from", "e.jsonl"), ("--from", "e.jsonl", "a=b"), ("-", "a=b")):
        assert run("emit", *wrong).returncode == 2


def test_emit_warns_of_a_type_that_nobody_knows(run: Run) -> None:
    """It is written all the same: unknown types are kept."""
    done = run("emit", "relay.trigered", "step_id=x")
    assert done.returncode == 0
    assert "did you mean 'relay.triggered', " in done.stderr


def test_a_reader_that_leaves_early_is_no_error(samples: Path, store: str) -> None:
    """As with `| head -1`."""
    code = f"{sys.executable} -c 'from analyzer.cli import main; main()' sql 'from events' --store {store} | head -1"
    done = subprocess.run(["bash", "-o", "pipefail", "-c", code], capture_output=True, text=True, check=False)
    assert done.stderr == ""
    assert done.returncode in {0, 141}


def test_help_is_quick(samples: Path, tmp_path: Path) -> None:
    """No duckdb, polars, plotly or rich is loaded for it, nor by what runs inside agents; a page needs no plotly."""
    heavy = ("duckdb", "polars", "plotly", "jinja2")
    agents = (*heavy, "click", "rich", "jsonlines", "zstandard")
    cases = {
        "from analyzer.cli import call; call(['--help']); call(['emit', 'a.b']); call(['classify', 'x'])": (
            *heavy,
            "jsonlines",
        ),
        "from analyzer.cli import call; call(['--help']); call(['report', '--help']); call(['query', '-h'])": heavy,
        "from analyzer.cli import call; call(['ingest', 'none']); call(['check']); call(['report', '--json'])": (
            "plotly",
            "jinja2",
        ),
        f"from analyzer.cli import call; assert call(['report', {str(samples)!r}]) == 0": ("plotly",),
        "import analyzer; analyzer.EventLog('x').append('a.b'); analyzer.classify('x')": agents,
        "import analyzer; analyzer.Retry('x').call(int); analyzer.ContextRecovery().fit([])": (*agents, "asyncio"),
        "import analyzer": (*agents, "msgspec", "re2"),
    }
    for code, forbidden in cases.items():
        check = (
            f"import sys\nloaded = [name for name in {forbidden!r} if name in sys.modules]\nassert not loaded, loaded"
        )
        script = f"{code}\n{check}"
        subprocess.run([sys.executable, "-c", script], check=True, capture_output=True, cwd=tmp_path)


def test_an_ingest_with_nothing_new_loads_no_frames(store: str, samples: Path, tmp_path: Path) -> None:
    """Whoever ingests every minute pays for the database alone: frames take longer to load than all that it does."""
    words = ["ingest", str(samples), "--store", store, "--json"]
    script = (
        f"import sys\nfrom analyzer.cli import call\ncall({words!r})\n"
        "print([name for name in ('polars', 'numpy', 'pandas', 'pyarrow', 'plotly', 'rich') if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", script], check=True, capture_output=True, text=True, cwd=tmp_path)
    said, _, loaded = done.stdout.rstrip().rpartition("\n")
    assert json.loads(said)["unchanged"] == json.loads(said)["files"] > 0
    assert loaded == "[]"


def test_a_check_of_a_written_night_loads_no_frames(store: str, tmp_path: Path) -> None:
    """Frames and DuckDB's package take longer to load than such a check; the first check of a night loads both."""
    words = ["check", "--until", "2026-11-10", "--store", store, "--json"]
    script = (
        f"import sys\nfrom analyzer.cli import call\ncall({words!r})\n"
        "print([name for name in sys.modules if name.startswith(('polars.', 'duckdb'))] == [])"
    )
    shown = []
    for loads_none in (False, True):
        done = subprocess.run([sys.executable, "-c", script], check=True, capture_output=True, text=True, cwd=tmp_path)
        answer, _, loaded = done.stdout.rstrip().rpartition("\n")
        assert loaded == str(loads_none)
        shown.append(json.loads(answer)["findings"])
    assert shown[0] == shown[1] != []


def test_a_query_loads_nothing_that_reads_logs_judges_or_detects(store: str, tmp_path: Path) -> None:
    """It is asked over and over, by scripts: what it does not use took three quarters of our own part of its start."""
    rooms = ("analyzer.importers", "analyzer.analysis.kinds", "analyzer.analysis.nightly", "analyzer.store.ingest")
    parts = (
        "analyzer.classifier.engine",
        "analyzer.store.upkeep",
        "analyzer.store.verdicts",
        "analyzer.classifier.rules",
    )
    script = (
        "import sys\nfrom analyzer.cli import call\n"
        "assert call(['query', 'overview-totals', '--store', 's.duckdb']) == 0\n"
        f"print([name for name in sys.modules if name.startswith({(*rooms, *parts)!r})])"
    )
    done = subprocess.run([sys.executable, "-c", script], check=True, capture_output=True, text=True, cwd=tmp_path)
    assert done.stdout.rstrip().rpartition("\n")[2] == "[]"


def test_the_package_is_the_command(tmp_path: Path) -> None:
    """`python -m analyzer` does what `analyzer` does, with its name and its exit codes."""

    def done(*words: str) -> tuple[str, str, int]:
        ran = subprocess.run([sys.executable, *words], capture_output=True, text=True, check=False, cwd=tmp_path)
        return ran.stdout, ran.stderr, ran.returncode

    for words in (("classify", "prompt is too long"), ("report", "no-such-path")):
        assert done("-m", "analyzer", *words) == done("-c", "from analyzer.cli import main; main()", *words)


def test_version_is_the_packages(run: Run) -> None:
    """One number, from the package's metadata."""
    done = run("--version")
    assert (done.stdout, done.returncode) == (f"analyzer {analyzer.__version__}\n", 0)
