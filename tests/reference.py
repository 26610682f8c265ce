"""The generated pages of `docs/` and `rules.json`: `python -m tests.reference` writes them, and tests assert that they
are current.

Views and queries describe themselves in the headers of their .sql files, commands in their `--help`.
"""

from __future__ import annotations

import ast
import inspect
import json
import re
import sys
import textwrap
import tomllib
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from functools import partial
from pathlib import Path
from typing import TypeVar

import click

from analyzer.analysis.verdict.answer import EXIT_CODES as EXIT_CODES_OF_RUNS
from analyzer.analysis.verdict.answer import MEANINGS
from analyzer.classifier import Ruleset
from analyzer.classifier.reading.reset_times import TIME_PATTERNS
from analyzer.classifier.rules import loading
from analyzer.classifier.rules.loading import PATTERNS, READ_BEFORE, text_number
from analyzer.cli import COMMANDS, cli, command_named
from analyzer.importers.formats import FORMATS
from analyzer.importers.places import HOMES
from analyzer.importers.programs import FORKS
from analyzer.importers.shapes.record_types import producers
from analyzer.redaction import engine
from analyzer.redaction.engine import WORDS_FILE, traces_number
from analyzer.redaction.families import FAMILIES
from analyzer.redaction.keys import ABOUT, PHRASES, SHORT, VENDORS
from analyzer.redaction.values import NAMES
from analyzer.store import catalogue, views
from analyzer.store.db.tables.schema import Column, Param
from tests import REPOSITORY, shown_formats
from tests.man_page import context_below, man_page
from tests.needed_words import needed_words
from tests.screens import SHOWN, screens

DOCS, PACKAGE = REPOSITORY / "docs", REPOSITORY / "analyzer"
Item = TypeVar("Item", Column, Param)
HELP_WIDTH = 88
"""Columns of the quoted help, so that it does not depend on anybody's terminal."""
NOTE = "<!-- Made by `python -m tests.reference`. Change {source} instead. -->"

COMMON_CODES = {
    0: "done",
    1: "findings: `check`, `nightly`, `doctor`, `prices check`, `rules test`, `reclassify --fail-on-change`",
    2: "wrong usage: an option, a value, rules or SQL that cannot be used; nothing was done",
    3: "a store, a file or an address could not be read or written; what could be done is done",
    4: "with `--strict`: some lines could not be read",
    **{EXIT_CODES_OF_RUNS[name]: f"`verdict`: {MEANINGS[name]}" for name in MEANINGS if name != "passed"},
    75: "busy: another process has the store open, or an agent is at its limit; try later",
    124: "stopped at a limit: of time, memory or size (`sql`), or of time (`run`)",
    125: "`run`: a relay was halted",
    127: "`run`: the command could not be started",
    130: "interrupted",
}
"""What an exit code means unless a command says more."""

EXIT_CODES: dict[str, dict[int, str]] = {
    "report": dict.fromkeys((0, 2, 3, 75), ""),
    "ingest": dict.fromkeys((0, 2, 3, 4, 75, 130), ""),
    "watch": {0: "the reader of its output is gone", 2: "", 3: "none of the paths exists", 130: "the usual end"},
    "sources": dict.fromkeys((0, 2, 3, 75), ""),
    "check": {
        0: "no open finding is as severe as `--fail-on`",
        1: "an open finding is as severe as `--fail-on`",
        **dict.fromkeys((2, 3, 75), ""),
    },
    "nightly": {
        0: "all steps are done, and no open finding is as severe as `--fail-on`; or a unit was printed",
        1: "an open finding is as severe as `--fail-on`",
        2: "",
        3: "a step failed; the other steps are done",
        4: "",
        75: "nothing was done",
        130: "",
    },
    "findings": {0: "", 2: "no such finding, several that begin so, or a resolved one", 3: "", 75: ""},
    "unknowns": dict.fromkeys((0, 2, 3, 75), ""),
    "reclassify": {0: "", 1: "with `--fail-on-change N`: N errors or more change their reason", 2: "", 3: "", 75: ""},
    "query": dict.fromkeys((0, 2, 3, 75), ""),
    "sql": dict.fromkeys((0, 2, 3, 75, 124), ""),
    "compare": dict.fromkeys((0, 2, 3, 75), ""),
    "whatif": dict.fromkeys((0, 2, 3, 75), ""),
    "change": {0: "", 2: "also: no such change to withdraw", 3: "", 75: ""},
    "objectives": {0: "", 1: "an objective is missed, or its budget burns fast", 2: "", 3: "", 75: ""},
    "budget": {0: "", 1: "the budget is passed", 2: "", 3: "", 75: ""},
    "claim": dict.fromkeys((0, 2, 3, 75), ""),
    "show": {0: "", 2: "no such ID, or several that begin so", 3: "", 75: ""},
    "push": dict.fromkeys((0, 2, 3, 75), ""),
    "export": dict.fromkeys((0, 2, 3, 75), ""),
    "completion": dict.fromkeys((0, 2), ""),
    "classify": {0: "also if the reason is `unknown`", 2: ""},
    "rules": {0: "", 1: "`test` found a problem", 2: "", 3: ""},
    "prices": {0: "", 1: "`check` found a price that differs", 3: ""},
    "run": {
        0: "the command's own code, like all others that are not listed",
        2: "nothing was started",
        3: "the pool's file cannot be used, or output could not be passed on",
        75: "a known limit holds; nothing was started",
        124: "the command was timed out",
        125: "",
        127: "",
        130: "after another signal: 128 and its number",
    },
    "verdict": {
        0: "`passed`: the run did its work",
        2: "",
        3: "a file that cannot be read, or is no agent's output",
        **{EXIT_CODES_OF_RUNS[name]: f"`{name}`" for name in MEANINGS if name != "passed"},
        130: "after another signal: 128 and its number",
    },
    "receive": {2: "also: an address that others reach, without a token", 3: "", 130: "the usual end"},
    "ui": {2: "also: the extra is not installed, or no such address", 3: "", 75: "", 130: "the usual end"},
    "hook": {0: "always, so that a hook never fails its agent", 2: "an unknown word"},
    "mcp": {0: "the agent ended the conversation", 2: "also: the extra is not installed", 130: ""},
    "emit": dict.fromkeys((0, 2, 3, 4), ""),
    "doctor": {0: "no problem; perhaps notes", 1: "a check found a problem", 2: ""},
    "quarantine": dict.fromkeys((0, 2, 3, 75), ""),
    "rebuild": dict.fromkeys((0, 2, 3, 75), ""),
    "prune": dict.fromkeys((0, 2, 3, 75), ""),
}
"""The exit codes of each command; an empty text means the common meaning."""


def commands_page() -> str:
    """Every command with its help and its exit codes."""
    root = click.Context(cli, info_name="analyzer", terminal_width=HELP_WIDTH, **cli.context_settings)
    shared = _shared_options()
    lines = [
        NOTE.format(source="the command's docstring and options, or `tests/reference.py`"),
        "# Commands",
        "",
        "Data goes to stdout, everything else to stderr. [JSON](json.md) and the [glossary](glossary.md) have",
        "their own pages. `$NO_COLOR` turns colours off. The store of this machine is",
        "`$XDG_DATA_HOME/analyzer/analyzer.duckdb`, by default below `~/.local/share`. `report` and `ingest`",
        "create it if they run without PATHs; with PATHs `ingest` creates one in this folder. `man analyzer`",
        "shows the manual page, and `analyzer completion` completes commands and names.",
        "",
        "```text",
        cli.get_help(root),
        "```",
        "",
        "## Exit codes",
        "",
        "| exit code | means |",
        "| ---: | --- |",
        *(f"| {code} | {_cell(meaning)} |" for code, meaning in COMMON_CODES.items()),
        "",
        "An error is one line on stderr. If you can do something, a second line begins with `hint:`. A bug is",
        "reported as `internal error` with exit code 3; `ANALYZER_DEBUG=1` shows its traceback.",
        "",
        "## Shared options",
        "",
        *(f"- {names}: {meaning}" for names, meaning in shared.items()),
    ]
    for name in COMMANDS:
        command = command_named(name)
        context = context_below(root, command, name)
        usage = " ".join(command.collect_usage_pieces(context)).removeprefix("[OPTIONS] ")
        lines += ["", f"## analyzer {name}", "", *_help_blocks(command.help or "")]
        lines += [f"`analyzer {name} {usage}`".replace(" [OPTIONS]", ""), ""] if usage else []
        if isinstance(command, click.Group):
            inner = ((key, sub.get_short_help_str(HELP_WIDTH)) for key, sub in command.commands.items())
            lines += [*(f"- `analyzer {name} {key}`: {_cell(text)}" for key, text in inner), ""]
        own, others = [], []
        for names, meaning in _options(command, context):
            if shared.get(names) == meaning:
                others.append(names)
            else:
                own.append(f"- {names}: {meaning}")
        lines += [*own, *([""] if own else [])]
        lines += [f"Shared options: {', '.join(others)}.", ""] if others else []
        said = [f"{code} ({_cell(meaning)})" if meaning else str(code) for code, meaning in EXIT_CODES[name].items()]
        lines.append(f"Exit codes: {', '.join(said)}.")
    return "\n".join(line.rstrip() for line in "\n".join(lines).splitlines()) + "\n"


def _options(command: click.Command, context: click.Context) -> list[tuple[str, str]]:
    """The options of a command but `--help`: names with what they take, and the help."""
    return [
        (f"`{record[0].replace(', ', '`, `')}`", _cell(record[1]))
        for param in command.params
        if isinstance(param, click.Option) and (record := param.get_help_record(context))
    ]


def _shared_options() -> dict[str, str]:
    """The options that at least three commands have with the same help."""
    root = click.Context(cli, info_name="analyzer", terminal_width=HELP_WIDTH, **cli.context_settings)
    counts = Counter(
        option
        for name in COMMANDS
        for option in _options(command_named(name), context_below(root, command_named(name), name))
    )
    most: dict[str, str] = {}
    for (names, meaning), count in counts.items():
        if count >= 3:
            most.setdefault(names, meaning)
    return most


def _help_blocks(text: str) -> list[str]:
    """The paragraphs of a help text as Markdown; one that keeps its lines is a block."""
    lines: list[str] = []
    for paragraph in inspect.cleandoc(text).split("\n\n"):
        if paragraph.startswith("\b"):
            lines += ["```text", textwrap.dedent(paragraph.removeprefix("\b\n")), "```", ""]
        else:
            lines += [_cell(" ".join(paragraph.split())), ""]
    return lines


AREAS_OF_DETECTION = ("detection",)
"""Queries that detection asks: nobody else needs the meaning of their columns."""


def queries_page() -> str:
    """Every query of the catalogue: what it answers, its parameters and its columns."""
    known = catalogue()
    shown = {name: query for name, query in known.items() if not name.startswith(AREAS_OF_DETECTION)}
    usual_params = _usual(param for query in known.values() for param in query.header.params)
    usual_columns = _usual(column for query in shown.values() for column in query.header.columns)
    lines = [
        NOTE.format(source="the header of the .sql file"),
        "# Queries",
        "",
        "```text",
        "analyzer query errors-by-reason --last 7d",
        "analyzer query unknown-messages -p caller=figma-probe -p limit=5 --json",
        "analyzer query errors-by-reason --sql",
        "```",
        "",
        "The first command runs a query, the last one prints its SQL with what each column means. In Python it is",
        "`store.query(NAME, ...)`. `--since`, `--until` and `--timezone` set the parameters of those names,",
        "`--last` sets `since`. A TIMESTAMP may be written `2026-11-01`, `2026-11-01T06:00`, `7d` (back from now)",
        "or `yesterday`. Times are UTC. `null` restricts nothing. See the [glossary](glossary.md) for words such",
        "as caller and template.",
        "",
        "The report uses these queries and no others.",
        "",
        "## Usual parameters and columns",
        "",
        "Below, a parameter or column without a description has this meaning:",
        "",
        *map(_item, usual_params.values()),
        *map(_item, usual_columns.values()),
    ]
    for name, query in known.items():
        area, _, rest = name.partition("-")
        header = query.header
        lines += ["", f"## {name}", "", f"{header.description} [SQL](../../queries/{area}/{rest}.sql)", ""]
        params = [_item(param, usual_params) for param in header.params]
        if params:
            lines += [*_gathered("Parameters", params), ""]
        if name in shown:
            lines += _gathered("Columns", [_item(column, usual_columns) for column in header.columns])
        else:
            lines.append(f"Columns: {', '.join(f'`{column.name}`' for column in header.columns)}.")
    return "\n".join(lines) + "\n"


def _usual(items: Iterable[Item]) -> dict[str, Item]:
    """The most frequent meaning of each name that three queries or more use alike."""
    most: dict[str, Item] = {}
    for item, count in Counter(items).most_common():
        if count >= 3:
            most.setdefault(item.name, item)
    return most


def _item(item: Column | Param, usual: Mapping[str, Column | Param] | None = None) -> str:
    """A parameter or column as an item of a list; only its name if it means the usual."""
    if usual is not None and usual.get(item.name) == item:
        return f"`{item.name}`"
    default = f" = `{item.default}`" if isinstance(item, Param) and item.default != "null" else ""
    return f"- `{item.name}` {item.type}{default}: {_cell(item.description)}"


def _gathered(word: str, items: list[str]) -> list[str]:
    """The items: first the names that mean the usual, in a line, then the others as a list."""
    usual = [item for item in items if not item.startswith("- ")]
    others = [item for item in items if item.startswith("- ")]
    return [
        f"{word}: {', '.join(usual)}{' and' if usual and others else ''}".rstrip() + (":" if others else "."),
        *(["", *others] if others else []),
    ]


def views_page() -> str:
    """Every view and its columns."""
    known = views()
    usual = _usual(column for header in known.values() for column in header.columns)
    lines = [
        NOTE.format(source="the header of the .sql file in `analyzer/store/db/views/`"),
        "# Views",
        "",
        "```text",
        'analyzer sql "describe errors"',
        "```",
        "",
        "These views and columns keep their meaning; tables whose names end in `_v1` may change. Each description",
        "is also a comment in the database:",
        "",
        "```sql",
        "select column_name, data_type, comment from duckdb_columns() where table_name = 'errors'",
        "```",
        "",
        "Times are TIMESTAMPs in UTC. Shares are 0..1, percentages 0..100. Null means that no log says. `payload`,",
        "`scope` and `text` come from logs: treat them as untrusted. See the [glossary](glossary.md) for words",
        "such as caller.",
        "",
        "Two views take arguments: `select reason, count(*) from errors_under(null) group by all`. Four functions",
        "say what is counted: `is_unknown(reason, detail)` for unknown errors, `is_counted(reason, detail)` for",
        "errors that take part in the unknown share, `is_compaction(step_id, strategy)` for an agent's own",
        "compactions in `relays`, `is_decision(type)` for events of the analyzer itself.",
        "",
        "## Usual columns",
        "",
        "Below, a column without a description has this meaning:",
        "",
        *map(_item, usual.values()),
    ]
    for name, header in sorted(known.items()):
        asked = ", ".join(f"{param.name} {param.type}" for param in header.params)
        usage = [f"`{name}({asked})`", ""] if asked else []
        columns = [_item(column, usual) for column in header.columns]
        lines += ["", f"## {name}", "", *usage, _cell(header.description), "", *_gathered("Columns", columns)]
    return "\n".join(lines) + "\n"


END = "<!-- Until here. -->"
PART = re.compile(rf"<!-- Made by .*?{END}", re.DOTALL)
"""A generated part of a page that is written by hand, whatever its note names as the source."""
SECRETS_BEGIN = NOTE.format(source="`analyzer/redaction/families.py`, `keys.py`, `values.py`")
LAYERS_BEGIN = NOTE.format(source="`[tool.importlinter]` in `pyproject.toml` or the docstring")
FOLDERS_BEGIN = NOTE.format(source="the docstring of the folder's `__init__.py`")
PLACES_BEGIN = NOTE.format(source="`analyzer/importers/places.py`")
FORKS_BEGIN = NOTE.format(source="`analyzer/importers/programs.py`")
SCREENS_BEGIN = NOTE.format(source="what the program prints, or `tests/screens.py`,")
READ_BEGIN = NOTE.format(source="an importer, or its log in `tests/shown_logs/`,")
SCANNERS = ("gitleaks", "detect-secrets", "trufflehog")


def layers() -> str:
    """The layers from top to bottom, as the import contracts name them, each with its one responsibility."""
    down, light = tomllib.loads((REPOSITORY / "pyproject.toml").read_text("utf-8"))["tool"]["importlinter"]["contracts"]
    lines = [LAYERS_BEGIN, "", "| layer | folder | one responsibility | inside agents |", "| ---: | --- | --- | --- |"]
    for number, names in enumerate(down["layers"], 1):
        for name in names.split(" | "):
            package = (PACKAGE / name).is_dir()
            shown, source = (f"{name}/", f"{name}/__init__.py") if package else (f"{name}.py", f"{name}.py")
            inside = "yes" if f"analyzer.{name}" in light["source_modules"] else ""
            lines.append(f"| {number} | `{shown}` | {_purpose(PACKAGE / source)} | {inside} |")
    return "\n".join([*lines, "", END])


def folders() -> str:
    """The folders inside of packages, each with what belongs there."""
    lines = [FOLDERS_BEGIN, "", "| folder | what belongs there |", "| --- | --- |"]
    for source in sorted(PACKAGE.glob("*/**/__init__.py")):
        folder = source.parent.relative_to(PACKAGE).as_posix()
        lines += [f"| `{folder}/` | {_purpose(source)} |"] if "/" in folder else []
    return "\n".join([*lines, "", END])


def _purpose(source: Path) -> str:
    """The first paragraph of a module's docstring."""
    text = ast.get_docstring(ast.parse(source.read_text("utf-8"))) or ""
    return _cell(" ".join(text.partition("\n\n")[0].split()))


SAYING = ("transcripts.", "agents.pi:Letta", "telemetry.platforms:")
"""How the names of readers begin which say all that the page of formats says of them, or whose modules do."""


def transcripts() -> str:
    """What the readers of transcripts and of platforms say of themselves, under the names of their formats."""
    source = "the module below `analyzer/importers/` that `analyzer/importers/formats.py` names"
    names: dict[str, list[str]] = {}
    for row in (row for row in FORMATS if row.made_by.startswith(SAYING)):
        place, _, reader = row.made_by.partition(":")
        tree = ast.parse((PACKAGE / f"importers/{place.replace('.', '/')}.py").read_text("utf-8"))
        classes = {node.name: ast.get_docstring(node) or "" for node in tree.body if isinstance(node, ast.ClassDef)}
        # In a module with readers of several agents each reader may say more after its first line.
        text = classes[reader].partition("\n\n")[2] or ast.get_docstring(tree) or ""
        names.setdefault(SOURCES.sub("", text).strip(), []).append(row.name)
    lines = [NOTE.format(source=source), ""]
    for text, formats in names.items():
        lines += [f"## {', '.join(formats)}", "", text, ""]
    return "\n".join([*lines, END])


SOURCES = re.compile(r"(?<=[.\n])\s*(?:Sources?(?: of the turns)?: |A platform is one row).*?(?=\n\n|\Z)", re.DOTALL)
"""Where a reader's author has read the format; it says nothing to users."""


def screen_of_readme(number: int) -> str:
    """What a command of the README prints on the sample logs."""
    return "\n".join([SCREENS_BEGIN, screens()[number], END])


def what_is_read() -> str:
    """The agents, the formats of their logs, and what the importers read of them."""
    return "\n".join([READ_BEGIN, "", *shown_formats.agents(), "", END])


def who_else_writes() -> str:
    """The forks whose logs are in the format of another agent."""
    lines = [f"- {row.title}: {', '.join(f'`{name}`' for name in row.formats)}, as `{row.agent}`" for row in FORKS]
    return "\n".join([FORKS_BEGIN, "", *lines, "", END])


def types_of_records() -> str:
    """The types of records of each producer that was looked at, by what they tell."""
    lines = [NOTE.format(source="`analyzer/importers/shapes/record_types.toml`"), ""]
    for row in producers():
        formats = ", ".join(f"`{name}`" for name in row.formats)
        lines += [f"### {row.name} {row.version}", "", f"Formats: {formats}. Looked at on {row.looked_at}.", ""]
        for kind, names in row.types.items():
            lines += [f"- {kind}: {', '.join(f'`{name}`' for name in names)}"] if names else []
        lines.append("")
    return "\n".join([*lines, END])


def where_logs_lie() -> str:
    """The places in which agents keep their logs, and which files of them are read."""
    lines = []
    for row in HOMES:
        roots, files = (", ".join(f"`{name}`" for name in names) for names in (row.roots, row.files))
        lines.append(f"- {row.agent}: {roots}" + (f" ({files})" if files else ""))
    return "\n".join([PLACES_BEGIN, "", *lines, "", END])


def known_secrets() -> str:
    """What redaction knows, as docs/explanation/security.md lists it."""
    families: dict[str, list[str]] = {}
    for family in FAMILIES:
        known = family.source if family.source in SCANNERS else "vendors and standards"
        families.setdefault(known, []).append(f"`{family.name}`")
    lines = [SECRETS_BEGIN, "", "| by its shape, after | |", "| --- | --- |"]
    lines += [f"| {source} | {', '.join(dict.fromkeys(names))} |" for source, names in families.items()]
    lines += ["", "| under a name with the words | what counts |", "| --- | --- |"]
    for guard, counts in COUNTS.items():
        words = [*PHRASES.get(guard, ()), *SHORT.get(guard, ())]
        lines.append(f"| {', '.join(f'`{word}`' for word in words)} | {counts} |")
    names, vendors, about = (", ".join(f"`{word}`" for word in sorted(words)) for words in (NAMES, VENDORS, ABOUT))
    lines += ["", f"`key` counts as those with letters and digits do behind the name of a vendor: {vendors}."]
    lines[-1] += " In a variable of an environment, `PROJECT_KEY`, 24 letters and digits in a row are enough."
    lines += ["", f"A name in which one of these words follows is about a secret and holds none: {about}."]
    return "\n".join([*lines, "", f"The flags for a secret are known of these commands: {names}.", "", END])


COUNTS = {
    "password": "all but plain words, references to a variable and complaints about a field",
    "plain": "the same, and no number of fewer than 15 digits",
    "mixed": "letters and digits, changing case, or a number of 15 digits or more",
    "random": "24 characters or more that look generated",
    "authorization": "what follows the name of a scheme, with its parameters",
    "cookie": "all cookies of the header",
}
"""What a value under a name has to be, by the name of the guard."""


def _cell(text: str) -> str:
    return text.replace("|", "\\|").replace("<", "&lt;")


def built_in_rules() -> str:
    """`rules.toml` as the package reads it: without what is left at its default, one rule a line."""
    content = Path(loading.BUILT_IN).read_bytes()
    ruleset = loading.read_anew(content)
    uses = Counter(text for rule in ruleset.rules for key in PATTERNS for text in getattr(rule, key))
    shared = [text for text, count in uses.items() if count > 1]
    number = {text: index for index, text in enumerate(shared)}
    entries = [
        {
            name: [number.get(item, item) for item in value] if name in PATTERNS else value
            for name, value in rule._asdict().items()
            if value != rule._field_defaults.get(name)
        }
        for rule in ruleset.rules
    ]
    parts = {
        "toml": json.dumps(text_number(content)),
        "digest": json.dumps(ruleset.digest),
        "status_patterns": json.dumps(ruleset.status_patterns, ensure_ascii=False),
        "prose_patterns": json.dumps(ruleset.prose_patterns, ensure_ascii=False),
        "places": json.dumps(ruleset.places),
        "shared": json.dumps(shared, ensure_ascii=False),
        "codes": json.dumps(
            [[table.providers, table.source, table.dated, dict(table.rules)] for table in ruleset.codes],
            ensure_ascii=False,
        ),
        "words": "[\n" + ",\n".join(map(json.dumps, _words(ruleset))) + "\n]",
        "rules": "[\n" + ",\n".join(json.dumps(entry, ensure_ascii=False) for entry in entries) + "\n]",
    }
    return "{\n" + ",\n".join(f'"{name}": {text}' for name, text in parts.items()) + "\n}\n"


def _words(ruleset: Ruleset) -> list[list[list[str]]]:
    """For each part of each pattern, what a text that it finds has one of."""
    parts = [*(pattern.parts for pattern in ruleset.compiled.patterns), *((text,) for text in TIME_PATTERNS)]
    return [[sorted(needed_words(part)) for part in each] for each in parts]


def trace_words() -> str:
    """The words of each pattern of the prefilter of redaction, one pattern a line."""
    traces = engine._traces()
    words = ",\n".join(json.dumps(sorted(needed_words(trace, over_bytes=True))) for trace in traces)
    return f'{{\n"traces": {json.dumps(traces_number(traces))},\n"words": [\n{words}\n]\n}}\n'


def llms_txt() -> str:
    """The map of the documentation for language models (https://llmstxt.org), made of the first page of docs/."""
    project = tomllib.loads((REPOSITORY / "pyproject.toml").read_text("utf-8"))["project"]
    _, _, lists = (DOCS / "README.md").read_text("utf-8").partition("\n## ")
    links = re.sub(r"\]\((?!\w+:)([^)]+)\)", r"](docs/\1)", f"## {lists}")
    return f"# analyzer\n\n> {project['description']}\n\nStart: [README](README.md).\n\n{links}"


PAGES: dict[str, Callable[[], str]] = {
    "analyzer.1": lambda: man_page(
        {name: {code: text or COMMON_CODES[code] for code, text in codes.items()} for name, codes in EXIT_CODES.items()}
    ),
    "commands.md": commands_page,
    "queries.md": queries_page,
    "views.md": views_page,
}
"""What makes each generated page of `docs/reference/`."""
PARTS: dict[str, tuple[Callable[[], str], ...]] = {
    "CONTRIBUTING.md": (layers, folders),
    "docs/explanation/security.md": (known_secrets,),
    "docs/reference/formats.md": (what_is_read, where_logs_lie, who_else_writes, transcripts, types_of_records),
    "README.md": tuple(partial(screen_of_readme, number) for number in range(len(SHOWN))),
}
"""What makes the generated parts of pages that are written by hand, in the order of a page."""


def main() -> int:
    """Write every page."""
    for name, page in PAGES.items():
        (DOCS / "reference" / name).write_text(page(), "utf-8")
        print(f"docs/reference/{name}")
    for name, parts in PARTS.items():
        text = (REPOSITORY / name).read_text("utf-8")
        texts = iter([part() for part in parts])
        (REPOSITORY / name).write_text(PART.sub(lambda _, texts=texts: next(texts), text), "utf-8")
        print(name)
    (REPOSITORY / "llms.txt").write_text(llms_txt(), "utf-8")
    for path, text in ((READ_BEFORE, built_in_rules()), (WORDS_FILE, trace_words())):
        Path(path).write_text(text, "utf-8")
        print(Path(path).relative_to(REPOSITORY))
    return 0


if __name__ == "__main__":
    sys.exit(main())
