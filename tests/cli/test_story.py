"""The story by the command line: a provider says something new, a night finds it, a rule takes it, a night is quiet."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

from tests.cli.conftest import Run
from tests.cli.nightly import NEW_ON, after, write_nights

Native = Callable[..., bytes]


def test_from_a_new_wording_to_a_quiet_night(run: Run, tmp_path: Path, native: Native) -> None:
    """Check fails on that night, a draft takes the wording, backtest shows what that buys, the next night is quiet."""
    write_nights(tmp_path / "logs", native, 40)
    assert run("ingest", "logs", "--store", "x.duckdb").returncode == 0

    quiet = run("check", "--store", "x.duckdb", "--until", after(NEW_ON - 1))
    assert (quiet.returncode, quiet.stdout) == (0, "")
    assert quiet.stderr.startswith("Nothing to report for 2026-10-06.")

    failed = run("check", "--store", "x.duckdb", "--until", after(NEW_ON), "--json")
    assert failed.returncode == 1
    (spike,) = json.loads(failed.stdout)["findings"]
    assert (spike["finding"], spike["state"], spike["scope"]["caller"]) == ("spike", "new", "planner")
    (fingerprint,) = {part["scope"]["template"] for part in spike["parts"] if part["finding"] == "template"}

    assert run("unknowns", "--store", "x.duckdb", "--suggest", "--output", "draft.toml").returncode == 0
    groups = json.loads(run("unknowns", "--store", "x.duckdb", "--json").stdout)["groups"]
    (new,) = [group for group in groups if fingerprint in group["fingerprints"]]
    assert new["template"] == "lattice gate <*> closed by curator <*>"
    _choose_a_reason(tmp_path / "draft.toml", "network_transient")
    assert run("rules", "test", "--rules", "draft.toml").returncode == 0

    arguments = ("rules", "backtest", "--rules", "draft.toml", "--store", "x.duckdb")
    tried = json.loads(run(*arguments, "--json").stdout)
    assert [change["fingerprint"] for change in tried["recovered"]] == [fingerprint]
    assert {(alarm["finding"], alarm["caller"]) for alarm in tried["alarms"]["vanished"]} >= {("spike", "planner")}
    assert (tried["alarms"]["appeared"], tried["alarms"]["stayed"]) == ([], [])
    assert "Alarms of past nights: 1 vanished, 0 appeared, 0 stayed." in run(*arguments).stdout

    assert run("reclassify", "--rules", "draft.toml", "--apply", "--store", "x.duckdb").returncode == 0
    cleared = run("check", "--store", "x.duckdb", "--until", after(NEW_ON + 1), "--json")
    assert cleared.returncode == 0
    (ended,) = json.loads(cleared.stdout)["findings"]
    assert (ended["id"], ended["state"], ended["resolution"]) == (spike["id"], "resolved", "explained")
    rows = run("sql", "select finding, state, resolution from findings", "--store", "x.duckdb", "--format", "csv")
    assert rows.stdout.splitlines()[1:] == ['"spike","resolved","explained"']
    assert run("check", "--store", "x.duckdb", "--until", after(NEW_ON + 2)).stdout == ""


def _choose_a_reason(path: Path, reason: str) -> None:
    """What an operator does to a draft without evidence: keep the entry of the new wording, and fill the reason in."""
    entries = path.read_text("utf-8").split("\n\n")
    (entry,) = [entry for entry in entries if 'id = "lattice_gate' in entry]
    if "# [[rule]]" in entry:
        entry = "[[rule]]" + entry.partition("# [[rule]]")[2].replace("\n# ", "\n").replace(
            'reason = ""', f'reason = "{reason}"'
        )
    path.write_text(entry + "\n", "utf-8")
