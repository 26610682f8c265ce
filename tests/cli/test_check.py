"""`analyzer check` as a command: exit codes, what it prints and where else it puts its result."""

from __future__ import annotations

import json
import os
import shutil
import stat
import time
from pathlib import Path
from typing import Any

import pytest
from prometheus_client.parser import text_string_to_metric_families

from analyzer.store import open_store
from tests import REPOSITORY, each_row
from tests.cli.conftest import Run
from tests.cli.hook import NO_HTTP
from tests.cli.nightly import CALLERS, NEW_ON, after, write_nights

NIGHT = ("check", "--store", "x.duckdb", "--until", after(NEW_ON))
PAGE = (REPOSITORY / "docs" / "reference" / "check.md").read_text("utf-8")
QUIET = ("check", "--store", "x.duckdb", "--until", after(NEW_ON - 1))


@pytest.fixture
def store(judged: Path, tmp_path: Path) -> Path:
    """A copy of the store whose nights are judged, in the folder that commands run in."""
    shutil.copytree(judged, tmp_path, dirs_exist_ok=True)
    return tmp_path / "x.duckdb"


def test_a_quiet_night_prints_nothing_and_exits_with_zero(run: Run, store: Path) -> None:
    """The verdict stands on stderr, where `--quiet` takes it away."""
    done = run(*QUIET)
    assert (done.returncode, done.stdout) == (0, "")
    assert done.stderr.startswith("No findings for 2026-10-06.")
    assert run(*QUIET, "--quiet").stderr == ""


def test_a_finding_is_told_first_and_fails_the_job(run: Run, fed: Path, tmp_path: Path) -> None:
    """Exit 1, at most eighty columns, and the same again when it is asked for again."""
    shutil.copytree(fed, tmp_path, dirs_exist_ok=True)
    done = run(*NIGHT)
    assert (done.returncode, done.stderr) == (1, "")
    assert done.stdout.startswith("1 new finding for 2026-10-07.")
    assert "CRITICAL  new  Unknown errors spiked: planner" in done.stdout or "WARNING  new" in done.stdout
    assert max(len(text) for text in done.stdout.splitlines() if " analyzer " not in text) <= 80
    assert run(*NIGHT).stdout == done.stdout


def test_fail_on_sets_how_severe_is_too_severe(run: Run, store: Path) -> None:
    """The finding of that night is a warning; `critical` lets it pass, and is told."""
    severity = json.loads(run(*NIGHT, "--json").stdout)["findings"][0]["severity"]
    assert severity == "warning"
    assert run(*NIGHT, "--fail-on", "critical").returncode == 0
    assert run(*NIGHT, "--fail-on", "info").returncode == 1


def test_json_has_what_the_page_names(run: Run, store: Path) -> None:
    """One object; its keys and those of a finding all stand in docs/reference/json.md."""
    content = json.loads(run(*NIGHT, "--json").stdout)
    assert content["schema"] == "analyzer.check/1"
    page = (Path(__file__).parents[2] / "docs" / "reference" / "json.md").read_text("utf-8")
    section = page.partition("## analyzer.check/1")[2].partition("\n## ")[0]
    finding = content["findings"][0]
    assert [key for key in [*content, *finding, *finding["scope"]] if f"`{key}`" not in section] == []


def test_each_day_replays_nights_and_writes_nothing_down(run: Run, fed: Path, tmp_path: Path) -> None:
    """A line for what opened; the journal stays as it is."""
    shutil.copytree(fed, tmp_path, dirs_exist_ok=True)
    done = run("check", "--store", "x.duckdb", "--each-day", "--since", after(27), "--until", after(NEW_ON))
    assert done.returncode == 1
    assert "Nothing of this is stored" in done.stderr
    assert done.stdout.startswith("1 finding in 3 nights, 1 still open on the last.")
    with open_store(tmp_path / "x.duckdb") as opened:
        assert opened.sql("select count(*) from events where type = 'night.judged'").item() == 0


def test_each_day_refuses_what_only_one_night_can_do(run: Run, store: Path) -> None:
    """Exit 2 with a hint."""
    assert run("check", "--store", "x.duckdb", "--each-day", "--prometheus", "x.prom").returncode == 2
    assert run("check", "--store", "x.duckdb", "--last", "7d").returncode == 2


def test_the_textfile_is_read_by_prometheus_own_parser(run: Run, store: Path, tmp_path: Path) -> None:
    """Without timestamps, written in one step, with the finding and its severity; the page names every metric."""
    (tmp_path / "x.prom").write_text("old", "utf-8")
    assert run(*NIGHT, "--prometheus", "x.prom").returncode == 1
    text = (tmp_path / "x.prom").read_text("utf-8")
    samples = [sample for family in text_string_to_metric_families(text) for sample in family.samples]
    assert {sample.timestamp for sample in samples} == {None}
    (count,) = [
        s for s in samples if s.name == "analyzer_findings" and s.labels == {"severity": "warning", "state": "new"}
    ]
    assert count.value == 1
    assert [s.labels["caller"] for s in samples if s.name == "analyzer_finding_observed"] == ["planner"]
    by_caller = {(s.name, s.labels["caller"], s.labels.get("reason")): s.value for s in samples if "caller" in s.labels}
    assert {who: by_caller["analyzer_sessions", who, None] for who in CALLERS} == CALLERS
    assert by_caller["analyzer_errors", "planner", "unknown"] == 6
    assert by_caller["analyzer_error_sessions", "planner", "rate_limited"] == 4
    assert by_caller["analyzer_unknown_share", "planner", None] == 6 / 18
    single = {s.name: s.value for s in samples if not s.labels}
    assert single["analyzer_quarantine_rows"] == 0
    assert single["analyzer_store_bytes"] > 10_000
    assert 0 <= time.time() - single["analyzer_last_ingest_seconds"] < 86_400
    assert not list(tmp_path.glob(".analyzer-*"))
    metrics = {line.split()[2] for line in text.splitlines() if "# TYPE" in line}
    assert len(metrics) == 13
    assert [name for name in metrics if f"`{name}" not in PAGE] == []


def test_a_job_gets_its_summary(run: Run, store: Path, tmp_path: Path) -> None:
    """Markdown is added below what is there already; a quiet night says so."""
    summary = tmp_path / "summary.md"
    summary.write_text("before\n", "utf-8")
    run(*QUIET, env={"GITHUB_STEP_SUMMARY": str(summary)})
    run(*NIGHT, env={"GITHUB_STEP_SUMMARY": str(summary)})
    text = summary.read_text("utf-8")
    assert text.startswith("before\n## No findings for 2026-10-06.")
    assert "## 1 new finding for 2026-10-07." in text
    assert "| warning | new | Unknown errors spiked | planner |" in text


@pytest.mark.parametrize("there", [False, True])
def test_a_summary_that_is_made_is_its_owners_alone(run: Run, store: Path, tmp_path: Path, there: bool) -> None:
    """Under a umask of 000 too; one that is there keeps its mode."""
    summary = tmp_path / "summary.md"
    before = os.umask(0)
    try:
        if there:
            summary.touch(0o640)
        run(*QUIET, "--prometheus", "x.prom", env={"GITHUB_STEP_SUMMARY": str(summary)})
    finally:
        os.umask(before)
    assert stat.S_IMODE(summary.stat().st_mode) == (0o640 if there else 0o600)
    assert stat.S_IMODE((tmp_path / "x.prom").stat().st_mode) == 0o600


def test_a_night_calls_nobody(run: Run, tmp_path: Path, hook: Any) -> None:
    """Names and addresses in a caller or a message are text in a job's summary and in a chat."""
    from datetime import datetime

    from analyzer.events import Event, encode

    def native(event_id: str, at: str, session: str, **payload: Any) -> bytes:
        payload |= {"caller": f"@everyone {payload['caller']}"}
        if "lattice" in payload["facts"]["message"]:
            payload["facts"] = {"message": "ask @octo-org or root@e.example about #12 at https://e.example"}
        return encode(Event("error.classified", datetime.fromisoformat(at), session, payload, event_id))

    write_nights(tmp_path / "logs", native, 34)
    with open_store(tmp_path / "x.duckdb", writable=True) as opened:
        opened.ingest([str(tmp_path / "logs")])
    summary = tmp_path / "summary.md"
    assert run(*NIGHT, "--webhook", hook.url, env={"GITHUB_STEP_SUMMARY": str(summary)}).returncode == 1
    for text in (summary.read_text("utf-8"), hook.bodies[0]["text"]):
        assert "everyone" in text
        assert "octo-org" in text
        for live in ("@everyone", "@octo", "root@e", "#12", "://e.example"):
            assert live not in text


def test_a_webhook_that_fails_twice_is_told_in_the_end(run: Run, store: Path, hook: Any) -> None:
    """Three posts of one body: a text for chats, and the whole result."""
    hook.codes = [503, 529]
    done = run(*NIGHT, "--webhook", hook.url)
    assert (done.returncode, done.stderr) == (1, "")
    assert len(hook.bodies) == 3
    assert hook.bodies[0] == hook.bodies[2]
    assert hook.bodies[2]["schema"] == "analyzer.check/1"
    title, *lines = hook.bodies[2]["text"].splitlines()
    assert title.startswith("WARNING: planner, ")
    assert lines[0] == "1 new finding for 2026-10-07."
    assert lines[1].startswith("• warning, new: Unknown errors spiked: planner, ")


def test_a_webhook_that_nobody_answers_exits_with_three(run: Run, fed: Path, tmp_path: Path, hook: Any) -> None:
    """The result was printed and written down before; the address is in no message."""
    shutil.copytree(fed, tmp_path, dirs_exist_ok=True)
    hook.codes = [500] * 9
    done = run(*NIGHT, "--webhook", hook.url)
    assert (done.returncode, len(hook.bodies)) == (3, 3)
    assert done.stdout.startswith("1 new finding")
    assert "127.0.0.1 did not take the result: HTTP 500" in done.stderr
    assert "secret-token" not in done.stderr
    assert json.loads(run(*NIGHT, "--json").stdout)["recorded"] is True


@pytest.mark.parametrize(("code", "why"), [(302, "HTTP 302"), (NO_HTTP, "BadStatusLine")])
def test_a_webhook_that_does_not_take_the_body_exits_with_three(
    run: Run, store: Path, hook: Any, code: int, why: str
) -> None:
    """A redirect would turn the post into a question without it; what speaks no HTTP has not taken it either."""
    hook.codes = [code] * 9
    done = run(*NIGHT, "--webhook", hook.url)
    assert done.returncode == 3
    assert f"did not take the result: {why}\n" in done.stderr


def test_a_webhook_address_that_cannot_be_sent_stays_secret(run: Run, store: Path, hook: Any) -> None:
    """A blank in it is refused before anything is sent, in words that do not quote it."""
    done = run(*NIGHT, "--webhook", f"{hook.url} x")
    assert (done.returncode, hook.bodies) == (3, [])
    assert "secret-token" not in done.stderr


def test_a_webhook_that_refuses_is_asked_once(run: Run, store: Path, hook: Any) -> None:
    """404 is permanent by the recovery table."""
    hook.codes = [404] * 9
    assert run(*NIGHT, "--webhook", hook.url).returncode == 3
    assert len(hook.bodies) == 1


@each_row("url", ["file:///etc/passwd", "nonsense", "http://["])
def test_a_webhook_is_a_web_address(run: Run, store: Path, url: str) -> None:
    """Anything else is refused, before a byte is sent."""
    done = run(*NIGHT, "--webhook", url)
    assert done.returncode == 2
    assert "http or https" in done.stderr


def test_the_page_names_every_kind_and_resolution() -> None:
    """docs/reference/check.md is what a reader of findings has at hand."""
    from analyzer.analysis.kinds.finding import KINDS, RESOLUTIONS

    assert [name for name in [*KINDS, *RESOLUTIONS] if f"`{name}`" not in PAGE] == []


def test_a_night_under_former_rules_says_how_to_judge_it_by_those_in_force(run: Run, store: Path) -> None:
    """A rule that was applied since does not change what a night said, but the night names `--again`, which does."""
    assert run(*NIGHT).returncode == 1
    assert "--again" not in run(*NIGHT).stdout
    write_rule(store.parent / "own.toml")
    assert run("reclassify", "--rules", "own.toml", "--apply", "--store", "x.duckdb").returncode == 0
    told = run(*NIGHT)
    assert told.returncode == 1
    assert "the rules have changed since" in told.stdout
    assert "--again judges it with them" in " ".join(told.stdout.split())
    assert run(*NIGHT, "--again").returncode == 0


def test_rules_that_cannot_be_used_are_refused_for_a_judged_night_too(run: Run, store: Path) -> None:
    """A night that is only read back does not hide that the file of `--rules` is not there."""
    assert run(*NIGHT, "--quiet").returncode == 1
    refused = run(*NIGHT, "--rules", "none.toml")
    assert (refused.returncode, refused.stdout) == (2, "")
    assert "none.toml" in refused.stderr


def test_rules_beside_an_applied_ruleset_are_told_to_have_no_say(run: Run, store: Path) -> None:
    """Once rules were applied to a store, they judge it; a file of `--rules` is named as one that does not."""
    write_rule(store.parent / "own.toml")
    write_rule(store.parent / "other.toml", "other")
    assert run("reclassify", "--rules", "own.toml", "--apply", "--store", "x.duckdb").returncode == 0
    assert "own.toml is not used" not in run(*QUIET, "--rules", "own.toml").stderr
    assert "other.toml is not used" in run(*QUIET, "--rules", "other.toml").stderr


def write_rule(path: Path, name: str = "lattice") -> None:
    """A rules file that knows the new wording of the nights."""
    path.write_text(
        f"""[[rule]]
id = "{name}"
reason = "network_transient"
text = ['lattice gate \\d+ closed']
source = "made up"
examples = ["lattice gate 4 closed by curator 2", "lattice gate 51 closed by curator 7"]
counter_examples = ["lattice gate four is open"]
""",
        "utf-8",
    )


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("query", "sources-completeness", "--project", "shop"), "is about the whole store"),
        (("check", "--agent", "codex", "--prometheus", "x.prom"), "always cover the whole fleet"),
        (("report", "--reason", "rate_limitd"), "did you mean 'rate_limited'?"),
    ],
)
def test_what_cannot_be_narrowed_says_so(run: Run, arguments: tuple[str, ...], said: str) -> None:
    """Before any store is opened."""
    done = run(*arguments)
    assert (done.returncode, done.stdout) == (2, "")
    assert said in done.stderr
