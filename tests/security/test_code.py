"""What the program's own code does not do, read from its syntax trees; and the patterns that it runs on log text."""

from __future__ import annotations

import ast
import functools
import importlib
import importlib.util
import pkgutil
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import analyzer
from analyzer.classifier import classify
from analyzer.redaction import redact
from analyzer.report.escape import csv_cell, json_text, markdown_text, runner_safe, terminal_safe
from analyzer.report.writers.html import environment
from tests import REPOSITORY
from tests.growth import assert_linear, assert_takes

ROOT = REPOSITORY / "analyzer"
FILES = sorted(ROOT.rglob("*.py"))
FORBIDDEN_MODULES = {
    "pickle", "cPickle", "marshal", "shelve", "dill", "cloudpickle", "joblib", "yaml", "ruamel", "code", "codeop",
    "pty", "telnetlib", "ftplib", "xmlrpc", "xml", "ctypes",
}  # fmt: skip
ALLOWED_MODULES = {"recovery/process/group.py": {"ctypes"}}
"""System calls that Python has no function for; nothing of a log or an option goes there."""
FORBIDDEN_CALLS = {"eval", "exec", "compile", "__import__", "input", "breakpoint"}
FORBIDDEN_METHODS = {
    ("os", "system"), ("os", "popen"), ("os", "execv"), ("os", "execvp"), ("tempfile", "mktemp"),
    ("pl", "read_ipc"), ("pl", "scan_ipc"), ("pd", "read_pickle"), ("np", "load"),
}  # fmt: skip


@functools.cache
def nodes() -> list[tuple[str, ast.Import | ast.ImportFrom | ast.Call]]:
    """Every import and every call of every file, with its place."""
    return [
        (f"{place}:{node.lineno}", node)
        for place, path in ((path.relative_to(ROOT).as_posix(), path) for path in FILES)
        for node in ast.walk(ast.parse(path.read_text("utf-8")))
        if isinstance(node, ast.Import | ast.ImportFrom | ast.Call)
    ]


def test_nothing_turns_data_into_code() -> None:
    """No pickle, no YAML, no eval: neither imported nor called, by any name."""
    found: list[str] = []
    for place, node in nodes():
        if isinstance(node, ast.Import | ast.ImportFrom):
            names = [item.name for item in node.names] if isinstance(node, ast.Import) else [node.module or ""]
            forbidden = FORBIDDEN_MODULES - ALLOWED_MODULES.get(place.split(":")[0], set())
            found += [f"{place} imports {name}" for name in names if name.split(".")[0] in forbidden]
        else:
            called = node.func
            if isinstance(called, ast.Name) and called.id in FORBIDDEN_CALLS:
                found.append(f"{place} calls {called.id}")
            if isinstance(called, ast.Attribute) and (ast.unparse(called.value), called.attr) in FORBIDDEN_METHODS:
                found.append(f"{place} calls {ast.unparse(called)}")
            for keyword in node.keywords:
                if keyword.arg == "shell" and not (isinstance(keyword.value, ast.Constant) and not keyword.value.value):
                    found.append(f"{place} uses a shell")
    assert found == []


def test_no_dependency_that_turns_data_into_code() -> None:
    """Nor among what is installed to run it."""
    locked = (REPOSITORY / "constraints.txt").read_text("utf-8").lower()
    names = set(re.findall(r"^([a-z0-9_.-]+)==", locked, re.MULTILINE))
    assert names
    assert not names & {"pyyaml", "ruamel-yaml", "dill", "cloudpickle", "joblib"}


@pytest.mark.parametrize("name", sorted(path.name for path in REPOSITORY.glob("constraints*.txt")))
def test_every_dependency_is_pinned_with_its_hashes(name: str) -> None:
    """One version of each, and what else a registry may give under that name is refused."""
    said = re.sub(r"(?m)^#.*\n", "", (REPOSITORY / name).read_text("utf-8"))
    lines = said.replace("\\\n", " ").splitlines()
    assert len(lines) > 5
    pinned = re.compile(r"[\w.-]+==[\w.!+-]+( *; [^\n]*?)?( +--hash=sha256:[0-9a-f]{64})+")
    assert [line for line in lines if not pinned.fullmatch(line)] == []


def test_user_patterns_are_re2() -> None:
    """`re` compiles constants of our own alone; what a rules file brings goes to RE2."""
    found: set[str] = set()
    for place, node in nodes():
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.args:
            built = not isinstance(node.args[0], ast.Constant)
            if ast.unparse(node.func.value) == "re" and node.func.attr != "escape" and built:
                found.add(place.split(":")[0])
    # f-strings over our own constants, names of parts of statements, callers that go through re.escape, and constants
    # that are compiled late.
    assert found <= {
        "importers/places.py",
        "importers/programs.py",
        "importers/shapes/documents.py",
        "redaction/automata.py",
        "classifier/reading/reset_times.py",
        "classifier/rules/packs.py",
        "report/overview.py",
        "report/escape.py",
        "store/db/frames.py",
        "store/upkeep/catching_up.py",
    }


HOSTILE = {
    "a": "a" * 1_000_000,
    "digits": "1" * 1_000_000,
    "dots": "1." * 500_000,
    "spaces": " " * 1_000_000,
    "newlines": "\n" * 1_000_000,
    "lines of spaces": "\n   " * 250_000,
    "quotes": '"' * 1_000_000,
    "backslashes": "\\" * 1_000_000,
    "brackets": "<" * 1_000_000,
    "stars": "*" * 1_000_000,
    "equals": "=" * 1_000_000,
    "escapes": "\x1b" * 1_000_000,
    "bidi": "\u202e" * 1_000_000,
    "letters": "é" * 1_000_000,
    "attempts": "attempt 1" * 111_111,
    "attempt digits": "attempt " + "1" * 1_000_000,
    "ids": '"id":"msg_' * 100_000,
    "sessions": '"sessionId":"' * 76_000,
    "keys": "sk-ant-api03-" * 76_000,
    "assignments": "password=" * 111_000,
    "urls": "http://a:b" * 100_000,
    "pem": "-----BEGIN PRIVATE KEY-----" * 37_000,
    "jwt": "eyJ" * 333_000,
    "resets": "resets at 1" * 90_000,
    "hours": "1 h " * 250_000,
    "relays": "Context relay triggered at 1" + "1" * 1_000_000,
}
LENGTH = 20_000
"""Of each, for one pattern: what costs the square takes four hundred million steps."""
SECONDS_A_MEGABYTE = 0.05
MACHINE = 8
"""Of processor time; a slow machine may take so many times longer; what is not linear takes a thousand times longer."""
ELSEWHERE = {
    "analyzer.classifier.reading.reset_times._PARTS": "reads what RE2 has matched, a few words",
    "analyzer.classifier.reading.reset_times._FOREIGN_PARTS": "reads what RE2 has matched, a few words",
    "analyzer.classifier.reading.reset_times._UNTRUSTED": "reads the 200 bytes after such a match",
    "analyzer.cli.commands.questions._SIZE": "reads an option",
}
"""Patterns that no text of a log reaches."""


def patterns(room: str) -> list[tuple[str, Any]]:
    """Every pattern of `re` and RE2 that stands at the top of a module of the room."""
    found: dict[int, tuple[str, Any]] = {}
    loaded = importlib.import_module(f"analyzer.{room}")
    names = [
        loaded.__name__,
        *(m.name for m in pkgutil.walk_packages(getattr(loaded, "__path__", ()), f"{loaded.__name__}.")),
    ]
    for module in names:
        for name, value in vars(importlib.import_module(module)).items():
            pattern = hasattr(value, "finditer") and hasattr(value, "pattern") and not isinstance(value, type)
            if pattern and f"{module}.{name}" not in ELSEWHERE:
                found[id(value)] = f"{module}.{name}", value
    return sorted(found.values(), key=lambda item: item[0])


@pytest.mark.parametrize(
    "room", sorted({path.relative_to(ROOT).parts[0].removesuffix(".py") for path in FILES} - {"__init__"})
)
def test_every_pattern_is_linear_on_hostile_text(room: str) -> None:
    """20 KB of what it likes best and then does not match, tried from every place: no pattern costs the square."""
    for name, pattern in patterns(room):
        for kind, text in HOSTILE.items():
            given = text[:LENGTH].encode() if isinstance(pattern.pattern, bytes) else text[:LENGTH]

            def tried(pattern: Any = pattern, given: Any = given) -> None:
                for _ in pattern.finditer(given):
                    pass
                pattern.fullmatch(given)

            assert_takes(tried, MACHINE * SECONDS_A_MEGABYTE, f"{name} on {kind}")


def inline() -> list[tuple[str, str, Any]]:
    """Every call of `re` with a constant pattern that is not compiled first: its place, its name and the pattern."""
    found = []
    for place, node in nodes():
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.args:
            pattern = node.args[0].value if isinstance(node.args[0], ast.Constant) else None
            if ast.unparse(node.func.value) == "re" and node.func.attr not in {"compile", "escape"} and pattern:
                found.append((place, node.func.attr, pattern))
    return found


def test_every_pattern_within_a_call_is_linear_on_hostile_text() -> None:
    """As those at the top of a module, tried as it is called there."""
    found = inline()
    assert len(found) > 20
    for place, name, pattern in found:
        tried = re.compile(pattern)
        way = {"match": tried.match, "fullmatch": tried.fullmatch}.get(name, tried.findall)
        for kind, text in HOSTILE.items():
            given = text[:LENGTH].encode() if isinstance(pattern, bytes) else text[:LENGTH]
            assert_takes(lambda way=way, given=given: way(given), MACHINE * SECONDS_A_MEGABYTE, f"{place} on {kind}")


def in_a_page(text: str) -> str:
    """The text as a template of the page puts it in."""
    return environment().from_string("{{ text }}").render(text=text)


@pytest.mark.parametrize("escape", [terminal_safe, in_a_page, csv_cell, markdown_text, json_text, runner_safe])
def test_every_escape_is_linear_on_hostile_text(escape: Callable[[str], str]) -> None:
    """By what goes in or what comes out, whichever is longer: a text may grow tenfold on its way."""
    escape(HOSTILE["escapes"][:10])
    for kind, whole in HOSTILE.items():
        text = whole[:300_000]
        megabytes = max(1, len(escape(text)) / 1e6)
        assert_takes(lambda text=text: escape(text), MACHINE * SECONDS_A_MEGABYTE * megabytes, kind)


@pytest.mark.parametrize("work", [redact, lambda text: classify({"message": text, "stderr": text, "exit_code": 1})])
def test_redaction_and_rules_are_linear_on_hostile_text(work: Callable[[str], object]) -> None:
    """All rules at once, and all that is looked for around them."""
    work("warm")
    for kind, whole in HOSTILE.items():
        text = whole[:300_000]
        assert_takes(lambda text=text: work(text), 3 * MACHINE * SECONDS_A_MEGABYTE, kind)
        assert_linear(work, text[: len(text) // 4], text)


def test_the_source_is_where_it_is_looked_for() -> None:
    """The tests above read all of it."""
    assert Path(str(analyzer.__file__)).parent == ROOT
    assert len(FILES) > 70
