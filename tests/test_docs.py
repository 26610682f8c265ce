"""The documentation names everything that there is, and what it shows works."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
import tomllib
from importlib import import_module
from itertools import takewhile
from pathlib import Path
from pkgutil import resolve_name

import click
import pytest

import analyzer
from analyzer import errors
from analyzer.analysis.kinds.detection import Settings
from analyzer.analysis.kinds.families.causes import Drift
from analyzer.classifier import REASONS, RECOVERY, Classification, Facts, Rule, default_ruleset, load_ruleset
from analyzer.classifier.recovery_table import ACTIONS
from analyzer.cli import COMMANDS, command_named
from analyzer.events.codec import WHYS, decode
from analyzer.events.model import Event
from analyzer.events.payloads import EVENT_TYPES, WorkPayload
from analyzer.events.times import now
from analyzer.importers import FORMATS
from analyzer.store import Tally, catalogue, views
from tests import each_row, reference
from tests.examples import blocks, run_example

REPOSITORY = Path(__file__).resolve().parents[1]
DOCS = REPOSITORY / "docs"
ENVIRONMENT = {**os.environ, "PYTHONPATH": str(REPOSITORY), "PYTHONUTF8": "1"}
PAGES = sorted(
    [*REPOSITORY.glob("*.md"), *DOCS.rglob("*.md"), REPOSITORY / "sample_events" / "README.md"],
    key=lambda path: path.as_posix(),
)


def text_of(name: str) -> str:
    """A page, by its path below the repository."""
    return (REPOSITORY / name).read_text("utf-8")


def absent(names: object, page: str) -> list[str]:
    """The names that a page does not set as code."""
    assert isinstance(names, list | tuple | set | frozenset | dict)
    return sorted(name for name in names if f"`{name}`" not in page)


def anchors(page: str) -> set[str]:
    """The anchors that GitHub makes of the headings of a page."""
    plain = re.sub(r"^```.*?^```$", "", page, flags=re.MULTILINE | re.DOTALL)
    headings = re.findall(r"^#{1,6} (.+)$", plain, re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("name", reference.PAGES)
def test_generated_pages_are_current(name: str) -> None:
    """`python -m tests.reference` would change nothing."""
    assert text_of(f"docs/reference/{name}") == reference.PAGES[name]()


@pytest.mark.parametrize("name", reference.PARTS)
def test_generated_parts_are_current(name: str) -> None:
    """The generated parts of a page stand in it once, in their order, as they would be written today."""
    assert reference.PART.findall(text_of(name)) == [made() for made in reference.PARTS[name]]


def test_contributing_begins_with_the_layers() -> None:
    """The first table of CONTRIBUTING has a row for each layer of the import contract, in its order."""
    page = text_of("CONTRIBUTING.md")
    contracts = tomllib.loads(text_of("pyproject.toml"))["tool"]["importlinter"]["contracts"]
    rows = [(str(place), name) for place, names in enumerate(contracts[0]["layers"], 1) for name in names.split(" | ")]
    table = page.partition("| ---: |")[2].partition("\n\n")[0]
    assert page.startswith("# Contributing\n\n## Layers\n")
    assert re.findall(r"^\| (\d+) \| `(\w+)(?:/|\.py)` \| \w", table, re.MULTILINE) == rows


def test_readme_has_exactly_two_set_up_commands() -> None:
    """Two fenced sh blocks, one command each; the second one follows the mark of the test command."""
    readme = text_of("README.md")
    found = [block.replace("\\\n", " ").strip() for block in blocks(readme, "sh")]
    assert len(found) == 2
    assert all("\n" not in command and command.startswith("python3 -m venv ") for command in found)
    assert found[0].endswith("/analyzer report sample_events/")
    assert found[1].endswith("-m tests")
    assert "<!-- test command -->\n```sh\n" in readme
    assert readme.index("```sh") < readme.index("<!-- test command -->")


def test_readme_is_short() -> None:
    """It has at most 150 lines, and a screen for each of five questions."""
    assert len(text_of("README.md").splitlines()) <= 150
    assert len(reference.PARTS["README.md"]) == 5


def test_the_page_of_the_samples_accounts_for_their_lines() -> None:
    """The lines that the samples' README adds up are those that ingest counts, without that README's own."""
    page = text_of("sample_events/README.md")
    (said,) = re.findall(
        r"(\d+) = (\d+) with events \+ (\d+) duplicate \+ (\d+) quarantined \+ (\d+) blank \+ (\d+) skipped", page
    )
    with analyzer.open_store(":memory:") as store:
        sources = store.ingest([str(REPOSITORY / "sample_events")]).to_dict()["sources"]
    read = [source for source in sources if not source["path"].endswith("README.md")]
    names = ("lines", "event_lines", "duplicates", "quarantined", "blank", "skipped")
    assert [int(number) for number in said] == [sum(source[name] for source in read) for name in names]


def test_readme_example_of_logging_runs(tmp_path: Path) -> None:
    """The example writes one classified error, and prints what its comment says."""
    (example,) = blocks(text_of("README.md"), "python")
    assert len(example.strip().splitlines()) <= 10
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", example],
        cwd=tmp_path,
        env=ENVIRONMENT,
        text=True,
        capture_output=True,
        check=True,
    )
    assert done.stdout.strip() in example
    (line,) = [line for path in (tmp_path / "telemetry").iterdir() for line in path.read_bytes().splitlines()]
    event = decode(line, now())
    assert isinstance(event, Event)
    assert (event.type, event.payload["caller"]) == ("error.classified", "planner")


TESTED_ELSEWHERE = {"README.md", *(f"docs/how-to/{name}.md" for name in ("frameworks", "mcp", "recovery"))}
"""Pages with Python that has tests of its own."""
WITH_PYTHON = sorted(
    name
    for page in PAGES
    if (name := page.relative_to(REPOSITORY).as_posix()) not in TESTED_ELSEWHERE
    and blocks(page.read_text("utf-8"), "python")
)


@pytest.mark.parametrize("name", WITH_PYTHON)
def test_examples_of_pages_with_python_run(name: str, tmp_path: Path) -> None:
    """The blocks of a page run one after another, their assertions hold, and every loop has something to go through."""
    page = text_of(name)
    if rules := blocks(page, "toml"):
        (tmp_path / "my-rules.toml").write_text(rules[0], "utf-8")
    run_example("\n".join(blocks(page, "python")), tmp_path, ENVIRONMENT)


def test_examples_are_typed(tmp_path: Path) -> None:
    """A strict type checker finds nothing in the examples of a page; nobody copies an error from there."""
    pages = ["README.md", *WITH_PYTHON]
    for number, name in enumerate(pages):
        (tmp_path / f"page_{number}.py").write_text("\n".join(blocks(text_of(name), "python")), "utf-8")
    command = [sys.executable, "-m", "mypy", "--config-file", "pyproject.toml", str(tmp_path)]
    done = subprocess.run(command, cwd=REPOSITORY, env=ENVIRONMENT, text=True, capture_output=True, check=False)
    assert done.returncode == 0, done.stdout
    assert f"in {len(pages)} source files" in done.stdout


@pytest.mark.parametrize(
    "loop",
    ["for one in []:\n    one.name", "names = [one.name for one in ()]", "def f():\n    for one in 'x': one.name"],
)
def test_a_loop_of_an_example_that_goes_through_nothing_fails(loop: str, tmp_path: Path) -> None:
    """Else nobody would know that its body names what is not there."""
    run_example("for one in [1]:\n    names = [str(each) for each in [one]]", tmp_path, ENVIRONMENT)
    with pytest.raises(subprocess.CalledProcessError):
        run_example(loop, tmp_path, ENVIRONMENT)


def test_example_events_are_events() -> None:
    """The lines in events.md decode, the checksum of the first one included."""
    found = [decode(block.strip().encode(), now()) for block in blocks(text_of("docs/reference/events.md"), "json")]
    assert len(found) == 2
    assert all(isinstance(event, Event) for event in found)


def test_example_rule_is_sound(tmp_path: Path) -> None:
    """The rule in classifier.md loads, finds its examples and lets its counter-example go."""
    path = tmp_path / "rules.toml"
    path.write_text(blocks(text_of("docs/explanation/classifier.md"), "toml")[0], "utf-8")
    rules = load_ruleset(path)
    (rule,) = rules.rules
    assert {analyzer.classify(example, rules=rules).rule for example in rule.examples} == {rule.id}
    assert {analyzer.classify(example, rules=rules).rule for example in rule.counter_examples} == {"none"}


@pytest.mark.parametrize("sql", blocks("\n".join(page.read_text("utf-8") for page in PAGES), "sql"))
def test_example_sql_runs(sql: str, samples: Path) -> None:
    """SQL that the documentation shows gives rows on the samples."""
    with analyzer.open_store(":memory:") as store:
        store.ingest([str(samples)])
        assert store.sql(sql).height


def test_every_command_and_option_is_documented() -> None:
    """commands.md names each command with each of its options."""
    page = text_of("docs/reference/commands.md")
    for name in COMMANDS:
        section = page.partition(f"## analyzer {name}\n")[2].partition("\n## ")[0]
        command = command_named(name)
        assert section
        for parameter in command.params:
            if isinstance(parameter, click.Option):
                assert all(option in section for option in parameter.opts), parameter.name


def test_every_exit_code_is_documented() -> None:
    """commands.md explains each code, and each command names codes that exist."""
    codes = {value for name, value in vars(errors).items() if name.isupper() and isinstance(value, int)}
    page = text_of("docs/reference/commands.md")
    assert codes == {int(code) for code in re.findall(r"^\| (\d+) \|", page, re.MULTILINE)}
    assert set(reference.EXIT_CODES) == set(COMMANDS)
    assert all(code in codes for rows in reference.EXIT_CODES.values() for code in rows)


@pytest.mark.parametrize(
    ("name", "command"), [("reference/check", "check"), ("how-to/run", "run"), ("how-to/nightly", "nightly")]
)
def test_a_guide_has_the_exit_codes_of_its_command(name: str, command: str) -> None:
    """The table under "Exit codes" names the codes that commands.md names, `0` of a supervised command aside."""
    section = text_of(f"docs/{name}.md").partition("\n## Exit codes\n")[2].partition("\n## ")[0]
    cells = re.findall(r"^\| ([^|]+) \|", section, re.MULTILINE)
    said = {int(code) for cell in cells for code in re.findall(r"\b\d+\b", cell)}
    known = set(reference.EXIT_CODES[command])
    by_signal = {128 + number for number in (1, 3, 15)} | {128}  # of `run`: one for each signal that would end it
    assert said - (by_signal if command == "run" else set()) == known - ({0} if command == "run" else set())


def test_every_query_with_its_parameters_and_columns_is_documented() -> None:
    """queries.md has a section for each query that names all of them."""
    page = text_of("docs/reference/queries.md")
    for name, query in catalogue().items():
        section = page.partition(f"\n## {name}\n")[2].partition("\n## ")[0]
        assert section, name
        params = [item.name for item in query.header.params]
        assert absent([*params, *(item.name for item in query.header.columns)], section) == []


def test_every_view_with_its_columns_is_documented() -> None:
    """views.md has a section for each view that names all of its columns."""
    page = text_of("docs/reference/views.md")
    for name, header in views().items():
        section = page.partition(f"\n## {name}\n")[2].partition("\n## ")[0]
        assert section, name
        assert absent([item.name for item in header.columns], section) == []


def test_every_reason_is_documented_with_its_recovery() -> None:
    """The table of classifier.md says of each reason what the recovery table says."""
    page = text_of("docs/explanation/classifier.md")
    assert set(RECOVERY) == set(REASONS)
    for reason, row in RECOVERY.items():
        said = f"| `{reason}` | {'yes' if row.retryable else 'no'} | `{row.action}` | {row.max_attempts} |"
        assert said in page


def test_every_detail_is_documented_under_its_reasons() -> None:
    """The table of details names each detail of the rules, under every reason that has it, and no other."""
    rows = re.findall(
        r"^\| ((?:`\w+`(?:, )?)+) \| ((?:`\w+`(?:, )?)+) \|", text_of("docs/explanation/classifier.md"), re.MULTILINE
    )
    documented = {
        (reason, detail)
        for details, reasons in rows
        for detail in re.findall(r"`(\w+)`", details)
        for reason in re.findall(r"`(\w+)`", reasons)
        if reason in REASONS
    }
    known = {(rule.reason, rule.detail) for rule in default_ruleset().rules if rule.detail}
    assert documented == known | {("unknown", "no_detail")}


def test_every_key_of_rules_facts_and_actions_is_documented() -> None:
    """classifier.md names the keys of a rule, the facts and the actions."""
    page = text_of("docs/explanation/classifier.md")
    shown = "\n".join(f"`{line.partition(' = ')[0]}`" for line in blocks(page, "toml")[0].splitlines())
    rules = set(Rule._fields)
    assert absent(rules, page + shown) == []
    assert absent(Facts._fields, page) == []
    assert absent(ACTIONS, page) == []


def test_every_event_type_and_payload_key_is_documented() -> None:
    """events.md names each type in a heading, and below it each key of its payload."""
    preface, *sections = re.split(r"^### ", text_of("docs/reference/events.md"), flags=re.MULTILINE)
    shared = set(WorkPayload.__annotations__)
    assert absent(shared, preface) == []
    for kind, payload in EVENT_TYPES.items():
        (section,) = [section for section in sections if kind in section.partition("\n")[0].split(", ")]
        own = set(payload.__annotations__)
        assert absent(own - shared if own > shared else own, section) == [], kind


def test_every_reject_code_is_documented() -> None:
    """The view names each code that a line may be rejected with, and events.md explains it."""
    (why,) = [item for item in views()["quarantine"].columns if item.name == "why"]
    codes = why.description.partition(": ")[2].rstrip(".").split(", ")
    assert set(codes) == set(WHYS)
    assert absent(codes, text_of("docs/reference/events.md")) == []


def test_every_format_is_documented() -> None:
    """formats.md has a section for each format that is read."""
    page = text_of("docs/reference/formats.md")
    assert absent([known.name for known in FORMATS], page) == []
    headings = {name for heading in re.findall(r"^## (.+)$", page, re.MULTILINE) for name in heading.split(", ")}
    assert {known.name for known in FORMATS if known.reader is not None} <= headings


def test_json_fields_are_documented() -> None:
    """json.md names the fields of ingest, classify and report."""
    page = text_of("docs/reference/json.md")
    assert absent(set(Tally.__slots__), page) == []
    assert absent(set(analyzer.classify("x").to_dict()), page) == []
    with analyzer.open_store(":memory:") as store:
        ingested = store.ingest([str(REPOSITORY / "sample_events")]).to_dict()
        report = analyzer.overview(store, import_module("analyzer.analysis").window()).to_dict()
    assert absent(set(ingested) - {"schema"}, page) == []
    assert absent({key for source in ingested["sources"] for key in source}, page) == []
    assert absent(set(report) - {"schema"}, page) == []
    for part in ("window", "verdict", "totals", "completeness"):
        assert absent(set(report[part]), page) == [], part
    assert absent({key for finding in report["findings"] for key in finding}, page) == []
    for name in ("numbers", "templates", "sessions_behind"):
        assert absent({key for row in report["findings"][0][name] for key in row}, page) == [], name
    assert absent(set(report["drifts"]) | set(Drift.__slots__), page) == []
    assert absent({key for table in report["tables"].values() for key in table}, page) == []
    for schema in (ingested["schema"], report["schema"], "analyzer.query/1", "analyzer.sql/1"):
        assert schema in page


def test_public_python_names_are_documented() -> None:
    """python.md names everything that `import analyzer` offers."""
    page = text_of("docs/how-to/python.md")
    assert [name for name in analyzer.__all__ if not re.search(rf"\banalyzer\.{name}\b", page)] == []
    assert {"rule", "ruleset"} <= set(Classification._fields)


@each_row("page", PAGES)
def test_names_of_python_in_a_page_lead_somewhere(page: Path) -> None:
    """`analyzer.room.name` is there; files and schemas are called like that too, and changes tell of old names."""
    if page.name == "CHANGELOG.md":
        return
    found = re.findall(r"`(analyzer(?:\.[A-Za-z_]\w*)+)(?![\w/-])", page.read_text("utf-8"))
    names = [name for name in found if not name.endswith((".toml", ".duckdb"))]
    assert [name for name in names if not leads_somewhere(name)] == []


def leads_somewhere(name: str) -> bool:
    """Whether a dotted name is a module, or something in one."""
    try:
        return resolve_name(name) is not None
    except (ImportError, AttributeError):
        return False


def test_constants_of_detection_are_documented() -> None:
    """detection.md gives the thresholds of shares and messages their present values."""
    page, settings = text_of("docs/explanation/detection.md"), Settings()
    assert f"at p ≤ {settings.share_alpha:g} for a day" in page
    assert f"q ≤ {settings.false_discovery_rate:g}" in page
    assert f"{settings.min_sessions} sessions or more show within" in page


@each_row("page", PAGES)
def test_links_resolve(page: Path) -> None:
    """A link inside the repository leads to a file, and to a heading where it names one."""
    prose = re.sub(r"^```.*?^```$", "", page.read_text("utf-8"), flags=re.MULTILINE | re.DOTALL)
    for target in re.findall(r"\]\(([^)\s]+)\)", prose):
        if target.startswith("https://"):
            continue
        name, _, anchor = target.partition("#")
        leads_to = (page.parent / name).resolve() if name else page
        assert leads_to.exists(), target
        if anchor:
            assert anchor in anchors(leads_to.read_text("utf-8")), target


def test_every_page_is_reachable_from_the_readme() -> None:
    """README links to the first page of docs/, which links to every other page."""
    first = text_of("docs/README.md")
    assert "](docs/README.md)" in text_of("README.md")
    names = [page.relative_to(DOCS).as_posix() for page in DOCS.rglob("*.md") if page.parent.name != "decisions"]
    assert [name for name in names if name != "README.md" and f"]({name})" not in first] == []


@each_row("page", sorted((DOCS / "explanation" / "decisions").glob("0*.md")))
def test_decisions_are_short(page: Path) -> None:
    """A decision says what, why and at what price on one screen."""
    text = page.read_text("utf-8")
    assert re.fullmatch(r"\d{4}-[a-z0-9-]+", page.stem)
    assert text.startswith(f"# {int(page.stem[:4])}. ")
    assert len(text.splitlines()) <= 25
    assert all(mark in text for mark in ("**Decided.**", "**Why.**", "**Price.**"))
    title = text.partition("\n")[0].removeprefix("# ")
    assert f"- [{title}]({page.name})\n" in text_of("docs/explanation/decisions/README.md")


def test_the_picture_is_small() -> None:
    """The screenshot of the README is a PNG of less than 250 kB."""
    data = (DOCS / "report.png").read_bytes()
    assert data.startswith(b"\x89PNG")
    assert len(data) < 250_000


def run(*arguments: str) -> subprocess.CompletedProcess[str]:
    """The command line, in a process of its own."""
    return subprocess.run(
        [sys.executable, "-c", "from analyzer.cli import main; main()", *arguments],
        env=ENVIRONMENT,
        text=True,
        encoding="utf-8",
        capture_output=True,
        check=True,
    )


def shown_commands() -> list[str]:
    """Every command line of the program that a hand-written page shows in a block, as its arguments."""
    blocks_of = re.compile(r"^```(?:text|sh|ini)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
    pages = "\n".join(page.read_text("utf-8") for page in PAGES if page.name != "commands.md")
    shown = set()
    for line in "\n".join(blocks_of.findall(pages)).replace("\\\n", " ").splitlines():
        for begun in re.finditer(r"(?:^(?:\$ )?|[|;&/] ?)analyzer (?=\w+ |--)", line):
            words = shlex.shlex(line[begun.end() :].replace("   ", " # "), posix=True, punctuation_chars="|&;<>→")
            words.whitespace_split = True
            shown.add(shlex.join(takewhile(lambda word: not set(word) <= set("|&;<>→"), words)))
    return sorted(shown)


@each_row("shown", shown_commands())
def test_shown_commands_are_understood(shown: str) -> None:
    """The program knows the command and each option that a page shows it with."""
    name, *arguments = shlex.split(shown)
    assert name in COMMANDS, shown
    command = command_named(name)
    context = click.Context(command, info_name=name)
    if isinstance(command, click.Group) and arguments and arguments[0] in command.commands:
        command, arguments = command.commands[arguments[0]], arguments[1:]
    command.make_parser(context).parse_args([argument for argument in arguments if argument != "…"])
    if name == "query" and not arguments[0].startswith("-"):
        assert arguments[0] in catalogue()


def test_shown_statements_run(samples: Path) -> None:
    """The SQL that a page hands to `analyzer sql` reads a store of the samples."""
    shown = [words[1] for words in map(shlex.split, shown_commands()) if words[0] == "sql"]
    assert len(shown) >= 5
    with analyzer.open_store(":memory:") as store:
        store.ingest([str(samples)])
        for sql in shown:
            assert store.sql(sql).columns, sql


def test_the_page_of_the_architecture_names_files_that_exist() -> None:
    """Every file and folder in it stands below `analyzer/`, or in the repository."""
    page = (REPOSITORY / "docs" / "explanation" / "architecture.md").read_text("utf-8")
    named = re.findall(r"`([a-z_]+/[a-z_/.]*)`", page)
    assert len(named) > 30
    assert [
        name for name in named if not ((REPOSITORY / "analyzer" / name).exists() or (REPOSITORY / name).exists())
    ] == []
