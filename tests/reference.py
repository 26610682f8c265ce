"""The generated pages of `docs/` and `rules.json`: `python -m tests.reference` writes them, and tests assert that they
are current.

Views and queries describe themselves in the headers of their .sql files, commands in their `--help`.
"""

from __future__ import annotations

import ast
import json
import re
import sys
import tomllib
from collections import Counter
from collections.abc import Callable
from pathlib import Path

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
from analyzer.redaction import engine
from analyzer.redaction.engine import KEPT, traces_number
from analyzer.redaction.families import FAMILIES
from analyzer.redaction.keys import ABOUT, PHRASES, SHORT, VENDORS
from analyzer.redaction.values import NAMES
from analyzer.store import catalogue, views
from analyzer.store.db.tables.schema import Column, Param
from tests import REPOSITORY, shown_formats
from tests.man_page import man_page
from tests.needed_words import needed_words

DOCS, PACKAGE = REPOSITORY / "docs", REPOSITORY / "analyzer"
HELP_WIDTH = 88
"""Columns of the quoted help, so that it does not depend on anybody's terminal."""
NOTE = "<!-- Made by `python -m tests.reference`. Change {source} instead. -->"

EXIT_CODES: dict[str, tuple[tuple[int, str], ...]] = {
    "report": (
        (0, "the report was made, whatever it says"),
        (2, "an option, a time, a time zone or rules that cannot be used"),
        (3, "no store, no logs of agents, or a path that could not be read; the report covers what could be"),
        (75, "another process is writing to the store"),
    ),
    "ingest": (
        (0, "everything there was to read is in the store"),
        (2, "an option that cannot be read"),
        (3, "a path or the store could not be read, the other paths are in the store; or no logs of agents"),
        (4, "with `--strict`: this run put lines into quarantine, or met damaged compressed data"),
        (75, "another process has the store open"),
        (130, "interrupted, as `--follow` is meant to be"),
    ),
    "watch": (
        (0, "whoever read its output has gone, as `head` does"),
        (2, "an option that cannot be read, or standard input"),
        (3, "none of the paths is there"),
        (130, "interrupted, as it is meant to be"),
    ),
    "sources": (
        (0, "the places were listed, perhaps all of them empty"),
        (2, "an option that cannot be read"),
        (3, "a place or the store could not be read"),
        (75, "another process is writing to the store"),
    ),
    "check": (
        (0, "no finding that is new or goes on is so severe as `--fail-on`"),
        (1, "a finding that is new or goes on is at least so severe"),
        (2, "an option, a time or rules that cannot be used"),
        (3, "no store, or it or a file cannot be written; somebody to be told could not be reached"),
        (75, "another process has the store open"),
    ),
    "nightly": (
        (
            0,
            "all steps are done, and no finding that is new or goes on is as severe as `--fail-on`; or a unit is made",
        ),
        (1, "a finding that is new or goes on is at least so severe"),
        (2, "an option, a time, a time zone or rules that cannot be used"),
        (
            3,
            "a path, the store, a file or somebody to be told could not be reached; the other steps are done",
        ),
        (4, "with `--strict`: this run put lines into quarantine, or met damaged compressed data"),
        (75, "another process has the store open; nothing was done"),
        (130, "it was interrupted"),
    ),
    "findings": (
        (0, "the findings were printed, perhaps none, or the decision is written down"),
        (2, "no such finding, several that begin so, one that is over, or no length of time"),
        (3, "no store, or it cannot be written"),
        (75, "another process has the store open"),
    ),
    "unknowns": (
        (0, "the groups were printed, perhaps none"),
        (2, "an option, a time, a group or rules that cannot be used"),
        (3, "no store, or it cannot be opened"),
        (75, "another process is writing to the store"),
    ),
    "reclassify": (
        (0, "history was judged and compared"),
        (1, "with `--fail-on-change N`: N errors or more change their reason"),
        (2, "rules that cannot be used"),
        (3, "no store, or it cannot be opened"),
        (75, "another process has the store open"),
    ),
    "query": (
        (0, "rows were printed, perhaps none"),
        (2, "no such query or parameter, or a value of the wrong type"),
        (3, "no store, or it cannot be opened"),
        (75, "another process is writing to the store"),
    ),
    "sql": (
        (0, "rows were printed, perhaps none"),
        (2, "the SQL does not run, is more than one statement, or does not only read"),
        (3, "no store, or it cannot be opened"),
        (75, "another process is writing to the store"),
        (124, "stopped at a limit: `--timeout`, `--memory`, or the size of the answer"),
    ),
    "compare": (
        (0, "both sides were compared, whatever changed"),
        (2, "an option, a window, a dimension or its values that cannot be used"),
        (3, "no store, or it cannot be opened"),
        (75, "another process is writing to the store"),
    ),
    "show": (
        (0, "told"),
        (2, "no session, finding or operation has such an id, or several begin so"),
        (3, "no store, or it cannot be opened"),
        (75, "another process has the store open"),
    ),
    "push": (
        (0, "all that is new is in the table"),
        (2, "an option that cannot be used, or a store that loads this table"),
        (3, "a path, the store or the table could not be read or written; what was added before stays"),
        (75, "another process has the store open"),
    ),
    "export": (
        (0, "the target is up to date; perhaps nothing had changed"),
        (2, "no target, a view that has no days, or a folder that holds another format"),
        (3, "no store, or the target does not take it, or is a store and no slice"),
        (75, "another process has the store open, or writes into the folder"),
    ),
    "completion": (
        (0, "the script is printed"),
        (2, "no shell named, or one that there is no completion for"),
    ),
    "classify": (
        (0, "each input has a line of output, `unknown` ones included"),
        (2, "nothing to classify, or an `--at` that is no time"),
    ),
    "rules": (
        (0, "listed, explained, scored or accepted; for `test`: nothing found"),
        (1, "`test` found something"),
        (2, "rules that cannot be used"),
        (3, "a file that cannot be read"),
    ),
    "prices": (
        (0, "listed; for `check`: no price differs"),
        (1, "`check` found a price that differs"),
        (3, "a file that cannot be read, or holds no prices that are known"),
    ),
    "run": (
        (0, "the command's own, as is every other code that is not below"),
        (2, "an option or an analyzer.toml that cannot be used; nothing was started"),
        (3, "the pool's file cannot be used, or output could not be handed on"),
        (75, "a usage or rate limit that is known holds; nothing was started"),
        (124, "the command was timed out"),
        (125, "a relay was halted"),
        (127, "the command could not be started"),
        (130, "interrupted; after another signal 128 and its number"),
    ),
    "verdict": (
        (0, "`passed`: the run did its work"),
        (2, "an option or rules that cannot be used, or a text without `--agent`"),
        (3, "a file that cannot be read, or is of no agent's format"),
        *((EXIT_CODES_OF_RUNS[name], f"`{name}`: {said}") for name, said in MEANINGS.items() if name != "passed"),
        (130, "interrupted; after another signal 128 and its number"),
    ),
    "receive": (
        (2, "an address that cannot be meant, or one that others reach, without a token"),
        (3, "the address or the folder cannot be had"),
        (130, "interrupted, as it is meant to be"),
    ),
    "hook": ((0, "always: a hook never fails its agent"), (2, "a word that is not known")),
    "mcp": (
        (0, "the agent has closed the conversation; what could not be answered was told to it"),
        (2, "an option that cannot be read, or the extra is not installed"),
        (130, "interrupted"),
    ),
    "emit": (
        (0, "the event is in the log; its id is on stdout"),
        (2, "an argument that is not KEY=VALUE"),
        (3, "the event could not be written"),
    ),
    "doctor": (
        (0, "no problem; there may be notes"),
        (1, "a check found a problem"),
        (2, "an option that cannot be read"),
    ),
    "quarantine": (
        (0, "listed; for `retry`: tried again, whatever came of it"),
        (2, "an option that cannot be read"),
        (3, "no store, or it cannot be opened or written"),
        (75, "another process has the store open"),
    ),
    "rebuild": (
        (0, "the new store is in its place"),
        (2, "an option that cannot be read"),
        (
            3,
            "nothing to make it from, and nothing was changed; or it is in place, but a path could not be read",
        ),
        (75, "another process has the store open"),
    ),
    "prune": (
        (0, "it went, or would go; perhaps nothing"),
        (2, "no SPAN, or one that cannot be read"),
        (3, "no store, or it, its journal or a file cannot be written"),
        (75, "another process has the store open"),
    ),
}
"""What each command's exit codes mean there."""


def commands_page() -> str:
    """Every command with its help and its exit codes."""
    root = click.Context(cli, info_name="analyzer", terminal_width=HELP_WIDTH, **cli.context_settings)
    lines = [
        NOTE.format(source="the command's docstring and options, or `tests/reference.py`"),
        "# Commands",
        "",
        "stdout carries data, stderr everything else. Nothing is cut without saying so. `--store` falls back to",
        "`$ANALYZER_STORE`, then to `analyzer.duckdb` in the working directory, then, where that is not there, to this",
        "machine's: `$XDG_DATA_HOME/analyzer/analyzer.duckdb`, with no variable below `~/.local/share`. `analyzer`,",
        "`report` and `ingest` make that one without PATHs; with PATHs `ingest` makes one in the working directory.",
        "`$NO_COLOR` takes the colours away.",
        "The JSON of each command is described [on a page of its own](json.md).",
        "The words of the program, such as caller and ruleset, stand in the [glossary](glossary.md).",
        "",
        "| exit code | means |",
        "| ---: | --- |",
        "| 0 | fine |",
        "| 1 | findings: `check`, `doctor`, `prices check`, `rules test`, `reclassify --fail-on-change` |",
        "| 2 | usage: an argument, an option or SQL that cannot be used |",
        "| 3 | a store or an input could not be read or written |",
        "| 4 | partial data, under `--strict` alone |",
        *(f"| {EXIT_CODES_OF_RUNS[name]} | `verdict`: {MEANINGS[name]} |" for name in MEANINGS if name != "passed"),
        "| 75 | busy: another process has the store open, or an agent is at its limit; try later |",
        "| 124 | stopped at a limit: `sql` of time, memory or size, `run` when the command was timed out |",
        "| 125 | `run`: a relay was halted |",
        "| 127 | `run`: the command could not be started |",
        "| 130 | interrupted |",
        "",
        "An error is one line on stderr and, where something can be done, a second one that begins with `hint:`. An",
        "unexpected one is reported as `internal error` with exit code 3; `ANALYZER_DEBUG=1` shows its traceback.",
        "",
        "```text",
        cli.get_help(root),
        "```",
    ]
    for name in COMMANDS:
        command = command_named(name)
        context = click.Context(command, info_name=name, parent=root, terminal_width=HELP_WIDTH)
        lines += ["", f"## analyzer {name}", "", "```text", command.get_help(context), "```", ""]
        lines += ["| exit code | when |", "| ---: | --- |"]
        lines += [f"| {code} | {_cell(meaning)} |" for code, meaning in EXIT_CODES[name]]
    return "\n".join(line.rstrip() for line in "\n".join(lines).splitlines()) + "\n"


def queries_page() -> str:
    """Every query of the catalogue: what it answers, its parameters and its columns."""
    known = catalogue()
    lines = [
        NOTE.format(source="the header of the .sql file"),
        "# Queries",
        "",
        "Run one with `analyzer query NAME`, in Python with `store.query(NAME, ...)`. Parameters are given as",
        "`-p KEY=VALUE`; `--since`, `--until` and `--timezone` set the parameters of those names, `--last` sets",
        "`since`. A TIMESTAMP may be written `2026-11-01`, `2026-11-01T06:00`, `7d` (back from now) or `yesterday`.",
        "Times are UTC. `null` restricts nothing. The report is made of these queries and no others; detection counts",
        "the rows of `detection-counts` and `detection-templates` out of those of `detection-groups`.",
        "`analyzer query NAME --sql` prints one. Words such as caller, chain and template: [glossary](glossary.md).",
        "",
        "| query | answers |",
        "| --- | --- |",
    ]
    lines += [f"| [{name}](#{name}) | {_cell(query.header.title)} |" for name, query in known.items()]
    for name, query in known.items():
        area, _, rest = name.partition("-")
        lines += ["", f"## {name}", "", query.header.description, ""]
        lines += [f"[`queries/{area}/{rest}.sql`](../../queries/{area}/{rest}.sql)", ""]
        if query.header.params:
            lines += ["| parameter | type | default | |", "| --- | --- | --- | --- |"]
            lines += [_param(param) for param in query.header.params]
            lines.append("")
        lines += _columns(query.header.columns)
    return "\n".join(lines) + "\n"


def views_page() -> str:
    """Every view and its columns."""
    known = views()
    lines = [
        NOTE.format(source="the header of the .sql file in `analyzer/store/db/views/`"),
        "# Views",
        "",
        "What SQL over a store may rely on: these views and columns keep their meaning; the tables behind them, whose",
        "names end in `_v1`, may change. Every description below is also a comment in the database:",
        "",
        "```sql",
        "select column_name, data_type, comment from duckdb_columns() where table_name = 'errors'",
        "```",
        "",
        "All times are TIMESTAMPs without a zone, in UTC. Shares are 0..1, percentages 0..100. Null means that no log",
        "says. `payload`, `scope` and `text` come from logs: treat them as untrusted text. Words such as caller, chain",
        "and template: [glossary](glossary.md).",
        "",
        "| view | |",
        "| --- | --- |",
    ]
    lines += [f"| [{name}](#{name}) | {_cell(header.description)} |" for name, header in sorted(known.items())]
    lines += [
        "",
        "`errors_under` and `comparable_errors` are asked with arguments, as functions are:",
        "`select reason, count(*) from errors_under(null) group by all`. Four more functions say in one place what is",
        "counted: `is_unknown(reason, detail)` holds for an error that counts as unknown, `is_counted(reason, detail)`",
        "for one that takes part in the unknown share, `is_compaction(step_id, strategy)` for a hand-off in `relays`",
        "that is an agent's own compaction, and `is_decision(type)` for an event of the analyzer itself.",
    ]
    for name, header in sorted(known.items()):
        asked = ", ".join(f"{param.name} {param.type}" for param in header.params)
        usage = [f"`{name}({asked})`", ""] if asked else []
        lines += ["", f"## {name}", "", *usage, header.description, "", *_columns(header.columns)]
    return "\n".join(lines) + "\n"


END = "<!-- Until here. -->"
PART = re.compile(rf"<!-- Made by .*?{END}", re.DOTALL)
"""A generated part of a page that is written by hand, whatever its note names as the source."""
SECRETS_BEGIN = NOTE.format(source="`analyzer/redaction/families.py`, `keys.py`, `values.py`")
LAYERS_BEGIN = NOTE.format(source="`[tool.importlinter]` in `pyproject.toml` or the docstring")
FOLDERS_BEGIN = NOTE.format(source="the docstring of the folder's `__init__.py`")
FORMATS_BEGIN = NOTE.format(source="`analyzer/importers/formats.py`")
PLACES_BEGIN = NOTE.format(source="`analyzer/importers/places.py`")
FORKS_BEGIN = NOTE.format(source="`analyzer/importers/programs.py`")
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


def how_formats_are_known() -> str:
    """The formats in the order in which they are tried, and what tells each."""
    lines = [FORMATS_BEGIN, "", "| format | recognised by | |", "| --- | --- | --- |"]
    read = [row for row in FORMATS if row.reader is not None]
    lines += [f"| `{row.name}` | {row.marked_by} | {'read; native' if row.native else 'read'} |" for row in read]
    left = ", ".join(f"`{row.name}`" for row in FORMATS if row.reader is None)
    return "\n".join([*lines, f"| {left} | what is left | looked at; no agent's log |", "", END])


SAYING = ("transcripts.", "agents.pi:Letta", "telemetry.platforms:")
"""How the names of readers begin which say all that the page of formats says of them, or whose modules do."""


def transcripts() -> str:
    """What the readers of transcripts and of platforms say of themselves, each under the names of its formats."""
    source = "the module below `analyzer/importers/` that `analyzer/importers/formats.py` names"
    lines, told = [NOTE.format(source=source), ""], dict[str, str]()
    for row in (row for row in FORMATS if row.made_by.startswith(SAYING)):
        place, _, reader = row.made_by.partition(":")
        module = place.replace(".", "/")
        tree = ast.parse((PACKAGE / f"importers/{module}.py").read_text("utf-8"))
        classes = {node.name: ast.get_docstring(node) or "" for node in tree.body if isinstance(node, ast.ClassDef)}
        # Of a module with readers of several agents each says its own behind its first line.
        shown = classes[reader].partition("\n\n")[2]
        if not shown and module in told:
            shown = f"{row.title[:1].upper()}{row.title[1:]}: see `{told[module]}`."
        elif not shown:
            told[module], shown = row.name, ast.get_docstring(tree) or ""
        lines += [f"## {row.name}", "", shown, ""]
    return "\n".join([*lines, END])


def what_is_read_of_agents() -> str:
    """What is read of each agent's logs, as the README shows it."""
    return "\n".join([READ_BEGIN, "", *shown_formats.agents(), "", END])


def what_is_read() -> str:
    """What the importers read of a log of each format that has everything such a log can show."""
    return "\n".join([READ_BEGIN, "", *shown_formats.table(), "", END])


def who_else_writes() -> str:
    """The forks whose logs are in the format of another agent, and what tells them apart."""
    lines = [FORKS_BEGIN, "", "| format | program | name in events | told by |", "| --- | --- | --- | --- |"]
    for row in FORKS:
        formats = ", ".join(f"`{name}`" for name in row.formats)
        lines.append(f"| {formats} | {row.title} | `{row.agent}` | {row.marked_by} |")
    return "\n".join([*lines, "", END])


def where_logs_lie() -> str:
    """The places in which agents keep their logs, and which files of them are read."""
    lines = [PLACES_BEGIN, "", "| agent | formats | where | what is read there |", "| --- | --- | --- | --- |"]
    for row in HOMES:
        cells = (", ".join(f"`{name}`" for name in names) for names in (row.formats, row.roots, row.files))
        lines.append(f"| {row.agent} | {' | '.join(cells)} |".replace("|  |", "| |"))
    return "\n".join([*lines, "", END])


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


def _columns(columns: tuple[Column, ...]) -> list[str]:
    rows = [f"| `{item.name}` | {item.type} | {_cell(item.description)} |" for item in columns]
    return ["| column | type | |", "| --- | --- | --- |", *rows]


def _param(param: Param) -> str:
    return f"| `{param.name}` | {param.type} | `{param.default}` | {_cell(param.description)} |"


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


PAGES: dict[str, Callable[[], str]] = {
    "analyzer.1": lambda: man_page(EXIT_CODES),
    "commands.md": commands_page,
    "queries.md": queries_page,
    "views.md": views_page,
}
"""What makes each generated page of `docs/reference/`."""
PARTS: dict[str, tuple[Callable[[], str], ...]] = {
    "CONTRIBUTING.md": (layers, folders),
    "docs/explanation/security.md": (known_secrets,),
    "docs/reference/formats.md": (how_formats_are_known, what_is_read, who_else_writes, where_logs_lie, transcripts),
    "README.md": (what_is_read_of_agents,),
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
    for path, text in ((READ_BEFORE, built_in_rules()), (KEPT, trace_words())):
        Path(path).write_text(text, "utf-8")
        print(Path(path).relative_to(REPOSITORY))
    return 0


if __name__ == "__main__":
    sys.exit(main())
