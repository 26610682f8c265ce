"""`analyzer rules` as people and scripts meet it: stdout, stderr and exit code."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from analyzer.classifier import default_ruleset
from analyzer.classifier.rules.loading import pack_in
from tests import named
from tests.classifier.rules.test_scoring import STREAM
from tests.classifier.rules.test_user_rules import NEW as MINE
from tests.cli.conftest import Run
from tests.cli.forking import Forks, Line

CASES = (
    {"id": "one", "input": {"status": 400, "message": "house quota spent"}, "reason": "rate_limited", "clear": True},
    {"id": "two", "input": {"status": 529}, "reason": "network_transient", "clear": True, "retryable": True},
    {"id": "three", "input": "The house quota page", "reason": "unknown", "acceptable": ["unknown"], "clear": True},
)


@pytest.fixture
def mine(tmp_path: Path) -> Path:
    """A rules file of one's own."""
    path = tmp_path / "mine.toml"
    path.write_text(MINE, "utf-8")
    return path


@pytest.fixture
def labels(tmp_path: Path) -> Path:
    """A file of labelled errors."""
    path = tmp_path / "labels.jsonl"
    path.write_text("".join(json.dumps(case) + "\n" for case in CASES), "utf-8")
    return path


def test_list_shows_every_rule_in_order(run: Run) -> None:
    """A row a rule with its source below, as text and as JSON; `--reason` leaves the others out."""
    ids = [rule.id for rule in default_ruleset().rules]
    lines = run("rules", "list").stdout.splitlines()
    assert lines[0].startswith(f"Ruleset {default_ruleset().digest}: {len(ids)} rules")
    assert [line.split()[0] for line in lines[3:] if not line.startswith(" ")] == ids
    data = json.loads(run("rules", "list", "--json").stdout)
    assert data["schema"] == "analyzer.rules-list/1"
    assert [rule["id"] for rule in data["rules"]] == ids
    assert all(rule["evidence"] and rule["source"] and rule["place"] for rule in data["rules"])
    some = json.loads(run("rules", "list", "--json", "--reason", "tool_not_found").stdout)["rules"]
    assert {rule["reason"] for rule in some} == {"tool_not_found"}


def test_list_refuses_an_unknown_reason(run: Run) -> None:
    """A reason that there is not exits with 2 and names the closest."""
    done = run("rules", "list", "--reason", "rate_limitd")
    assert (done.returncode, done.stdout) == (2, "")
    assert "did you mean 'rate_limited'" in done.stderr


def test_built_in_rules_pass_their_test(run: Run) -> None:
    """The verdict comes first, the exit code is 0."""
    done = run("rules", "test")
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith("No findings in ")
    data = json.loads(run("rules", "test", "--json").stdout)
    assert (data["schema"], data["ok"], data["findings"]) == ("analyzer.rules-test/1", True, [])
    assert data["ruleset"] == default_ruleset().digest


def test_findings_exit_with_1(run: Run, mine: Path) -> None:
    """An example that goes elsewhere is shown with file, line and rule."""
    mine.write_text(MINE.replace('"House quota reached"', '"Home quota reached"'), "utf-8")
    done = run("rules", "test", "--rules", "mine.toml")
    assert done.returncode == 1
    assert done.stdout.startswith("1 finding in ")
    assert "mine.toml:2: house_quota: " in done.stdout
    (found,) = json.loads(run("rules", "test", "--rules", "mine.toml", "--json").stdout)["findings"]
    assert (found["rule"], found["place"], found["example"]) == ("house_quota", "mine.toml:2", "Home quota reached")


def test_broken_file_exits_with_2(run: Run, mine: Path) -> None:
    """A mistake in a rules file is one line on stderr with file, line and rule, and a hint."""
    mine.write_text(MINE.replace("'house quota'", "'house (quota'"), "utf-8")
    for arguments in (("test",), ("list",), ("explain", "x"), ("backtest", "--labels", "none.jsonl")):
        done = run("rules", *arguments, "--rules", "mine.toml")
        if arguments[0] != "backtest":
            assert (done.returncode, done.stdout) == (2, "")
            assert done.stderr.startswith("analyzer: mine.toml:6: pattern ")
            assert "  hint: " in done.stderr


def test_corpus_names_rules_that_nothing_hits(run: Run, mine: Path, tmp_path: Path) -> None:
    """With --corpus the rules that no line hits are findings; lines may be objects, cases or plain text."""
    (tmp_path / "corpus.jsonl").write_text('{"status": 529}\n\nHouse quota reached\n' + json.dumps(CASES[1]), "utf-8")
    done = run("rules", "test", "--rules", "mine.toml", "--corpus", "corpus.jsonl", "--json")
    data = json.loads(done.stdout)
    unhit = {found["rule"] for found in data["findings"] if found["kind"] == "never_hit"}
    assert (done.returncode, data["corpus_lines"]) == (1, 3)
    assert "tool_missing" in unhit
    assert unhit.isdisjoint({"house_quota", "overloaded_text", "server_status"})


def test_list_by_age_begins_with_what_has_no_date(run: Run, mine: Path) -> None:
    """Undated rules lead, then the oldest source; a date that is none is refused with its line."""
    data = json.loads(run("rules", "list", "--by-age", "--json").stdout)["rules"]
    dates = [rule["dated"] or "" for rule in data]
    assert dates == sorted(dates)
    assert dates[0] == "" and dates[-1] > "2026"
    shown = run("rules", "list", "--by-age").stdout
    assert "oldest source first" in shown
    assert shown.count("\nundated ") == dates.count("")
    assert shown.index(next(filter(None, dates))) < shown.index(dates[-1])
    mine.write_text(MINE.replace("source =", 'dated = "2026-02-30"\nsource =', 1), "utf-8")
    done = run("rules", "list", "--rules", "mine.toml")
    assert (done.returncode, done.stdout) == (2, "")
    assert "dated of rule 'house_quota' is no date: '2026-02-30'" in done.stderr


def test_a_stream_is_scored_by_half_year(run: Run, tmp_path: Path) -> None:
    """As JSON and as a table; lines that are no dated errors are counted."""
    (tmp_path / "dated.jsonl").write_text("".join(json.dumps(row) + "\n" for row in STREAM), "utf-8")
    done = run("rules", "test", "--stream", "dated.jsonl", "--json")
    data = json.loads(done.stdout)
    assert (done.returncode, data["schema"], data["skipped"]) == (0, "analyzer.rules-stream/1", 3)
    assert "3 lines are no labelled, dated errors, the first one is line 7" in done.stderr
    assert [each["half"] for each in data["halves"]] == ["2025-2", "2026-1", "2026-2", "all"]
    shown = run("rules", "test", "--stream", "dated.jsonl").stdout.splitlines()
    assert shown[0].startswith("3 of 6 labelled errors right or acceptable, by ruleset ")
    assert shown[-1].split() == ["all", "6", "50.0%", "2", "1", "1", "1", "1"]


def test_a_stream_without_dated_errors_is_an_input_error(run: Run, tmp_path: Path) -> None:
    """Exit code 3 with the shape of a line; beside --corpus it is a mistake of usage."""
    (tmp_path / "none.jsonl").write_text('{"status": 1}\n', "utf-8")
    done = run("rules", "test", "--stream", "none.jsonl")
    assert (done.returncode, done.stdout) == (3, "")
    assert "no labelled, dated errors" in done.stderr
    assert '"expected": "rate_limited"' in done.stderr
    assert run("rules", "test", "--stream", "missing.jsonl").returncode == 3
    assert run("rules", "test", "--stream", "none.jsonl", "--corpus", "none.jsonl").returncode == 2


def test_unreadable_corpus_exits_with_3(run: Run) -> None:
    """A corpus or labels that cannot be read are an input error."""
    for arguments in (("test", "--corpus", "none.jsonl"), ("backtest", "--labels", "none.jsonl")):
        done = run("rules", *arguments)
        assert (done.returncode, done.stdout) == (3, "")
        assert "none.jsonl: cannot be read" in done.stderr


def test_explain_shows_winner_rivals_and_recovery(run: Run) -> None:
    """The reason first, then what it matched on, what to do, why, and the facts."""
    done = run("rules", "explain", "--status", "429", "Rate limit exceeded, try again in 12s")
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith("rate_limited, by rule rate_limit_text of ruleset ")
    for part in ("wait_then_retry", "retry_after_seconds  12.0", "comes before", "rate_limit_status", "status   429"):
        assert part in done.stdout
    assert max(map(len, done.stdout.splitlines())) <= 120


def test_explain_reads_one_object(run: Run) -> None:
    """`-` takes a JSON object from stdin; times count from its timestamp."""
    given = {"status": 429, "message": "limit reached ∙ resets 3pm (UTC)", "timestamp": "2026-11-21T08:00:00Z"}
    done = run("rules", "explain", "-", "--json", stdin=json.dumps(given))
    data = json.loads(done.stdout)
    assert (data["schema"], data["reason"]) == ("analyzer.rules-explain/1", "rate_limited")
    assert data["reset_at"] == "2026-11-21T15:00:00Z"
    assert [match["rule"] for match in data["matches"] if match["decides"]] == [data["rule"]]
    assert data["facts"]["status"] == 429
    assert data["why"]
    for bad in ("", "[1]", "{"):
        assert run("rules", "explain", "-", stdin=bad).returncode == 2


def test_backtest_says_what_improves_and_what_regresses(run: Run, mine: Path, labels: Path) -> None:
    """Figures before and after, then the errors that changed sides."""
    done = run("rules", "backtest", "--rules", "mine.toml", "--labels", "labels.jsonl")
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith("1 improved, 1 regressed, 0 moved otherwise, of 3 labelled errors.")
    assert "one  validation → rate_limited, by house_quota" in done.stdout
    assert "three  unknown → rate_limited, by house_quota; wanted unknown" in done.stdout
    data = json.loads(run("rules", "backtest", "--rules", "mine.toml", "--labels", "labels.jsonl", "--json").stdout)
    assert (data["schema"], data["cases"], data["skipped"]) == ("analyzer.rules-backtest/1", 3, 0)
    assert (data["before"]["clear"], data["after"]["clear"]) == ({"hits": 2, "total": 3}, {"hits": 2, "total": 3})
    assert [case["id"] for case in data["improved"]] == ["one"]
    assert data["after"]["retry"] == {"hits": 1, "total": 1}


def test_backtest_counts_lines_that_are_no_cases(run: Run, labels: Path) -> None:
    """Lines without a known reason are left out and counted on stderr; with none left it is an input error."""
    labels.write_text('{"input": "x", "reason": "bad"}\nnothing\n' + labels.read_text("utf-8"), "utf-8")
    done = run("rules", "backtest", "--labels", "labels.jsonl")
    assert done.returncode == 0
    assert "2 lines are no labelled errors, the first one is line 1" in done.stderr
    labels.write_text("nothing\n", "utf-8")
    assert run("rules", "backtest", "--labels", "labels.jsonl").returncode == 3


def test_settings_name_the_rules_file(run: Run, mine: Path, tmp_path: Path) -> None:
    """analyzer.toml names it, also from a folder above; $ANALYZER_RULES wins over it, and --rules over both."""
    folder = tmp_path / "conf"
    folder.mkdir()
    mine.rename(folder / "mine.toml")
    (tmp_path / "analyzer.toml").write_text('[classifier]\nrules = "conf/mine.toml"\n', "utf-8")
    (tmp_path / "env.toml").write_text(MINE.replace("house_quota", "env_quota"), "utf-8")
    (tmp_path / "option.toml").write_text(MINE.replace("house_quota", "option_quota"), "utf-8")

    def first(*arguments: str, env: dict[str, str] | None = None) -> str:
        data = json.loads(run("rules", "list", "--json", *arguments, env=env).stdout)
        return str(data["rules"][0]["id"])

    assert first() == "house_quota"
    assert first(env={"ANALYZER_RULES": "env.toml"}) == "env_quota"
    assert first("--rules", "option.toml", env={"ANALYZER_RULES": "env.toml"}) == "option_quota"
    below = tmp_path / "a" / "b"
    below.mkdir(parents=True)
    command = [sys.executable, "-c", "from analyzer.cli import main; main()", "rules", "list", "--json"]
    done = subprocess.run(command, cwd=below, capture_output=True, text=True, check=True, env={**os.environ})
    assert json.loads(done.stdout)["rules"][0]["id"] == "house_quota"


@pytest.mark.parametrize(
    ("text", "says"),
    named(
        {
            "toml": ("[classifier\n", "no valid TOML"),
            "key": ('[classifier]\nrule = "x"\n', "did you mean 'rules'"),
            "type": ("[classifier]\nrules = 3\n", "rules is no path"),
            "table": ('classifier = "x"\n', "classifier is no table"),
            "missing": ('[classifier]\nrules = "none.toml"\n', "cannot read rules"),
        }
    ),
)
def test_broken_settings_exit_with_2(run: Run, tmp_path: Path, text: str, says: str) -> None:
    """A mistake in analyzer.toml is named, and no command runs on a guess."""
    (tmp_path / "analyzer.toml").write_text(text, "utf-8")
    done = run("rules", "list")
    assert (done.returncode, done.stdout) == (2, "")
    assert says in done.stderr


def test_other_settings_are_left_alone(run: Run, tmp_path: Path) -> None:
    """Tables of analyzer.toml that are not about rules do not matter here."""
    (tmp_path / "analyzer.toml").write_text('[report]\ntimezone = "UTC"\n', "utf-8")
    assert run("rules", "list").returncode == 0


def _moulting(tmp_path: Path) -> Path:
    """A log with an unknown error that recovered on a retry in two sessions, and one that nobody tried again."""
    lines = []
    for session in ("a", "b"):
        known = {"operation": f"op-{session}", "reason": "unknown", "caller": "probe"}
        failed = {**known, "attempt": 1, "facts": {"message": f"Heron {session}7 is moulting on the pier"}}
        settled = {**known, "outcome": "recovered", "attempts": 2}
        for kind, payload in (("error.classified", failed), ("retry.settled", settled)):
            at = "2026-11-02T08:00:00Z"
            lines.append(json.dumps({"type": kind, "timestamp": at, "sessionId": session, "payload": payload}))
    alone = {"reason": "unknown", "caller": "probe", "facts": {"message": "Walrus sleeps below the ferry"}}
    lines.append(
        json.dumps(
            {"type": "error.classified", "timestamp": "2026-11-02T09:00:00Z", "sessionId": "c", "payload": alone}
        )
    )
    path = tmp_path / "log.jsonl"
    path.write_text("\n".join(lines) + "\n", "utf-8")
    return path


def test_an_accepted_draft_becomes_a_rule(run: Run, tmp_path: Path) -> None:
    """Behind the rules that are there, weak, with what was seen as its source; the lint passes, the error is known."""
    assert run("ingest", str(_moulting(tmp_path)), "--store", "x.duckdb").returncode == 0
    groups = json.loads(run("unknowns", "--store", "x.duckdb", "--json").stdout)["groups"]
    heron, walrus = (each["fingerprint"] for each in groups)
    mine = tmp_path / "mine.toml"
    mine.write_text(MINE, "utf-8")
    done = run("rules", "accept", heron, "--store", "x.duckdb", "--rules", "mine.toml")
    assert (done.returncode, done.stdout) == (0, "")
    assert "says network_transient, weakly: retried 2 times in 2 sessions, 2 recovered" in done.stderr
    text = mine.read_text("utf-8")
    assert text.startswith('version = "1"\ndate = "')
    assert MINE.strip("\n") in text
    assert "weak = true" in text
    assert '2 sessions, 2 recovered"' in text
    assert run("rules", "test", "--rules", "mine.toml").returncode == 0
    known = json.loads(run("classify", "Heron b7 is moulting on the pier", "--rules", "mine.toml", "--json").stdout)
    assert (known["reason"], known["confidence"]) == ("network_transient", "weak")
    for given, said in (
        ((walrus, "--rules", "mine.toml"), "there is no evidence for a reason"),
        (("1-abc", "--rules", "mine.toml"), "there is no group of unknown errors '1-abc'"),
        ((walrus, "--rules", "mine.toml", "--reason", "tired"), "unknown reason 'tired'"),
        ((walrus, "--rules", "mine.toml", "--reason", "unknown"), "would decide nothing"),
        ((walrus,), "name your own rules file"),
    ):
        refused = run("rules", "accept", *given, "--store", "x.duckdb")
        assert (refused.returncode, refused.stdout) == (2, "")
        assert said in refused.stderr
    assert mine.read_text("utf-8") == text
    made = run("rules", "accept", walrus, "--store", "x.duckdb", "--rules", "new.toml", "--reason", "validation")
    assert made.returncode == 0
    again = run("rules", "accept", walrus, "--store", "x.duckdb", "--rules", "mine.toml", "--reason", "validation")
    assert again.returncode == 0
    assert pack_in(mine.read_bytes(), "mine").version == "2"
    assert run("rules", "test", "--rules", "new.toml").returncode == 0


PACK = f'version = "1.2"\ndate = "2026-10-01"\nsources = ["the manual of a gateway"]\n{MINE}'
OWN = """
[[rule]]
id = "own_crane"
reason = "validation"
text = ['crane (?:is|was) asleep']
source = "our own gateway"
examples = ["crane is asleep", "the crane was asleep"]
counter_examples = ["the crane is awake"]
"""


def _reasons(run: Run) -> list[str]:
    shown = run("sql", "select reason from errors order by message", "--store", "x.duckdb", "--json").stdout
    return [row["reason"] for row in json.loads(shown)["rows"]]


def test_a_pack_is_tried_taken_and_given_back(run: Run, tmp_path: Path) -> None:
    """It stands between the own rules and the built-in ones; without --apply nothing changes, and --undo goes back."""
    log = tmp_path / "log.jsonl"
    said = ("crane is asleep", "house quota is green", "the heron quota is green")
    log.write_text("".join(json.dumps(_error(each)) + "\n" for each in said), "utf-8")
    assert run("ingest", str(log), "--store", "x.duckdb").returncode == 0
    pack, mine = tmp_path / "house.toml", tmp_path / "mine.toml"
    pack.write_text(PACK, "utf-8")
    mine.write_text(OWN, "utf-8")
    given = ("rules", "update", "house.toml", "--rules", "mine.toml", "--store", "x.duckdb")
    tried = run(*given)
    assert tried.returncode == 0
    assert tried.stdout.startswith(
        "Pack 1.2 of 2026-10-01, 1 rule, from the manual of a gateway; the present one: none."
    )
    assert "unknown → rate_limited, by rule house_quota" in tried.stdout
    assert tried.stdout.endswith("Nothing is changed without --apply.\n")
    assert mine.read_text("utf-8") == OWN
    assert _reasons(run) == ["unknown"] * 3
    assert run(*given, "--apply").returncode == 0
    assert mine.read_text("utf-8") == f'pack = "mine.pack-1.2.toml"\n{OWN}'
    assert (tmp_path / "mine.pack-1.2.toml").read_text("utf-8") == PACK
    assert _reasons(run) == ["validation", "rate_limited", "unknown"]
    later = PACK.replace('"1.2"', '"1.10"').replace("house quota", "(?:house|heron) quota", 1)
    pack.write_text(later, "utf-8")
    assert run(*given, "--apply").returncode == 0
    assert _reasons(run) == ["validation", "rate_limited", "rate_limited"]
    back = ("rules", "update", "--undo", "--rules", "mine.toml", "--store", "x.duckdb", "--apply")
    assert run(*back).stdout.startswith("Pack 1.2 of 2026-10-01, 1 rule")
    assert _reasons(run) == ["validation", "rate_limited", "unknown"]
    assert run(*given, "--apply").returncode == 0
    assert [run(*back).returncode, run(*back).returncode] == [0, 0]
    assert _reasons(run) == ["validation", "unknown", "unknown"]
    listing = run("rules", "list", "--rules", "mine.toml")
    assert (listing.returncode, "Pack" in listing.stdout) == (0, False)
    refused = run(*back)
    assert (refused.returncode, refused.stdout) == (2, "")
    assert "has no pack that could be given back" in refused.stderr


def test_a_pack_is_named_for_programs(run: Run, tmp_path: Path) -> None:
    """What a pack would change, what was taken, and the pack that the rules file names are there as JSON, too."""
    log, mine = tmp_path / "log.jsonl", tmp_path / "mine.toml"
    log.write_text(json.dumps(_error("house quota is green")) + "\n", "utf-8")
    (tmp_path / "house.toml").write_text(PACK, "utf-8")
    about = {"version": "1.2", "date": "2026-10-01", "sources": ["the manual of a gateway"], "rules": 1}
    given = ("rules", "update", "house.toml", "--rules", "mine.toml", "--json")
    without = json.loads(run(*given).stdout)
    assert (without["schema"], without["changes"], mine.exists()) == ("analyzer.rules-update/1", None, False)
    assert run("ingest", str(log), "--store", "x.duckdb").returncode == 0
    tried, taken = (json.loads(run(*given, "--store", "x.duckdb", *more).stdout) for more in ((), ("--apply",)))
    assert (tried["pack"], tried["present"], tried["applied"], taken["applied"]) == (about, None, False, True)
    assert [each["after"] for each in tried["changes"]["recovered"]] == ["rate_limited"]
    assert _reasons(run) == ["rate_limited"]
    listing = run("rules", "list", "--rules", "mine.toml")
    assert "\nPack 1.2 of 2026-10-01, 1 rule, from the manual of a gateway, stands between" in listing.stdout
    assert "Pack 1.2 of" in run("rules", "list", "--by-age", "--rules", "mine.toml").stdout
    named = json.loads(run("rules", "list", "--rules", "mine.toml", "--json").stdout)
    assert (named["pack"], named["ruleset"]) == (about, taken["ruleset"])
    back = json.loads(run("rules", "update", "--undo", "--rules", "mine.toml", "--json").stdout)
    assert (back["pack"], back["present"], back["applied"]) == (None, about, False)


def _error(message: str) -> dict[str, object]:
    payload = {"reason": "unknown", "caller": "probe", "facts": {"message": message}}
    return {"type": "error.classified", "timestamp": "2026-11-02T08:00:00Z", "sessionId": "a", "payload": payload}


TAKING = ("rules", "update", "house.toml", "--rules", "mine.toml", "--apply")


@pytest.fixture(scope="module")
def taken(forks: Forks, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with rules that have taken a pack; tests copy it."""
    folder = tmp_path_factory.mktemp("taken")
    (folder / "house.toml").write_text(PACK, "utf-8")
    assert forks.run(Line(TAKING, str(folder), environment={"HOME": str(folder)})).code == 0
    return folder


@pytest.mark.parametrize(
    ("text", "says"),
    named(
        {
            "no-version": (MINE, "it is no pack of rules: it says no version"),
            "version": (PACK.replace('"1.2"', '"next"'), "version is none: 'next'"),
            "date": (PACK.replace("2026-10-01", "2026-13"), "date is none"),
            "sources": (PACK.replace('["the manual of a gateway"]', "[]"), "sources are none"),
            "no-toml": ("version = 1.2.3", "no valid TOML"),
            "pack-of-a-pack": (f'pack = "x.toml"\n{PACK}', "not on another pack"),
            "size": ("#" * (1 << 20) + PACK, "larger than 1024 KiB"),
            "lint": (
                PACK.replace('"1.2"', '"1.3"').replace("House quota reached", "A walrus"),
                "house_quota: no rule matches its example",
            ),
            "older": (PACK.replace('"1.2"', '"1.1"'), "is older than the present one, 1.2"),
            "same-version": (f"{PACK}# more\n", "version 1.2 was taken before, with other rules"),
        }
    ),
)
def test_a_bad_pack_is_refused_and_nothing_is_written(
    run: Run, taken: Path, tmp_path: Path, text: str, says: str
) -> None:
    """A pack that says nothing of itself, is unsound, too large, older, or another text of a version that was taken."""
    shutil.copytree(taken, tmp_path, dirs_exist_ok=True)
    pack = tmp_path / "house.toml"
    before = {each.name: each.read_bytes() for each in tmp_path.iterdir() if each != pack}
    pack.write_text(text, "utf-8")
    refused = run(*TAKING)
    assert (refused.returncode, refused.stdout) == (2, "")
    assert says in refused.stderr
    assert {each.name: each.read_bytes() for each in tmp_path.iterdir() if each != pack} == before


def test_a_pack_is_a_file(run: Run, tmp_path: Path) -> None:
    """A pipe and a folder are refused at once, and so is a rules file that names a pack in another folder."""
    os.mkfifo(tmp_path / "pipe")
    for name, says in (
        ("pipe", "it is a pipe, not a file"),
        (".", "it is a folder"),
        ("gone.toml", "cannot read rules"),
    ):
        refused = run("rules", "update", name, "--rules", "mine.toml")
        assert (refused.returncode, refused.stdout) == (2, "")
        assert says in refused.stderr
    (tmp_path / "mine.toml").write_text('pack = "../house.toml"\n', "utf-8")
    assert "no name of a file beside this one" in run("rules", "list", "--rules", "mine.toml").stderr
