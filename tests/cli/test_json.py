"""`--json`: every command that takes it prints JSON in each of its modes."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from pathlib import Path

import click
import pytest

from analyzer.cli import cli
from tests import sampled
from tests.cli.conftest import UNSET, Run
from tests.cli.forking import Forks, Line
from tests.cli.test_rules import OWN, PACK

ENDLESS = {("watch",), ("ingest", "--follow")}
"""Those that go on until they are stopped, one JSON object a line."""
ARGUMENTS = {
    "budget": ["--daily", "20"],
    "claim": ["anthropic"],
    "classify": ["HTTP 529 Overloaded"],
    "export": ["errors", "--to", "out"],
    "findings show": ["ID"],
    "prices check": ["prices.json"],
    "prune": ["--older-than", "9000d"],
    "push": ["run.jsonl", "--to", "delta:table"],
    "query": ["errors-by-reason"],
    "rules backtest": ["--labels", "labels.jsonl"],
    "rules explain": ["HTTP 529 Overloaded"],
    "rules update": ["house.toml", "--rules", "mine.toml"],
    "show": ["ID"],
    "sql": ["select 1 as n"],
    "verdict": ["run.jsonl"],
    "whatif model": ["claude-opus-4-5=claude-sonnet-4-5"],
    "whatif retry": ["--attempts", "3"],
    "whatif rules": ["mine.toml"],
}
"""What commands want besides their flags."""


def commands(group: click.Command = cli, *names: str) -> Iterator[tuple[str, click.Command]]:
    """Walk through the commands of the command tree that take `--json`."""
    if isinstance(group, click.Group):
        context = click.Context(group)
        for name in group.list_commands(context):
            command = group.get_command(context, name)
            assert command is not None
            yield from commands(command, *names, name)
    elif any("--json" in param.opts for param in group.params):
        yield " ".join(names), group


COMMANDS = dict(commands())


def modes(name: str, command: click.Command) -> Iterator[list[str]]:
    """Write a command's lines: by itself, with each flag, and with each value of an argument that has few."""
    flags = [param.opts[0] for param in command.params if isinstance(param, click.Option) and param.is_flag]
    choices = [
        value
        for param in command.params
        if isinstance(param, click.Argument) and isinstance(param.type, click.Choice)
        for value in param.type.choices
    ]
    given = ARGUMENTS.get(name, [])
    further = [[mode] for mode in (*flags, *choices) if mode not in {"--json", "--quiet"}]
    for number, more in enumerate(([], *sampled(further, len(name) % 2, step=2))):
        # With the arguments and without them, and each flag; in short runs by turns.
        for arguments in sampled((given, []), number % 2, step=2) if given else ([],):
            if not {(name,), (name, *more)} & ENDLESS:
                yield [*name.split(), *arguments, *more, "--json"]


def is_json(text: str) -> bool:
    """Tell whether a text is one value of JSON."""
    try:
        json.loads(text)
    except ValueError:
        return False
    return True


@pytest.fixture(scope="module")
def prepared(samples: Path, ingested: Path, forks: Forks, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str]:
    """Make a folder with a store, a judged night, logs and what else commands read; name a finding. Tests copy it."""
    folder = tmp_path_factory.mktemp("json")
    shutil.copytree(ingested, folder, dirs_exist_ok=True)
    for file in folder.glob("s.*"):
        file.rename(folder / file.name.replace("s.", "analyzer.", 1))
    judged, shown = (
        forks.run(Line(words, str(folder), environment={"HOME": str(folder)}, unset=UNSET))
        for words in (["check", "--until", "2026-11-10"], ["findings", "--all", "--json"])
    )
    assert judged.code == 1
    shutil.copy(samples / "claude-transcript.jsonl", folder / "run.jsonl")
    price = {"litellm_provider": "anthropic", "input_cost_per_token": 5e-6, "output_cost_per_token": 25e-6}
    (folder / "prices.json").write_text(json.dumps({"claude-opus-4-5": price}), "utf-8")
    (folder / "house.toml").write_text(PACK, "utf-8")
    (folder / "mine.toml").write_text(OWN, "utf-8")
    (folder / "labels.jsonl").write_text('{"input": "HTTP 529 Overloaded", "reason": "network_transient"}\n', "utf-8")
    return folder, json.loads(shown.stdout)["findings"][0]["id"]


@pytest.mark.parametrize("name", COMMANDS)
def test_json_is_json_in_every_mode(name: str, run: Run, prepared: tuple[Path, str], tmp_path: Path) -> None:
    """An answer is one JSON value, or one a line; where there is none the exit code says so."""
    folder, finding = prepared
    shutil.copytree(folder, tmp_path, dirs_exist_ok=True)
    answered = 0
    for line in modes(name, COMMANDS[name]):
        done = run(*(finding if word == "ID" else word for word in line))
        answered += bool(done.stdout)
        assert done.stdout or done.returncode, line
        assert is_json(done.stdout) or all(map(is_json, done.stdout.splitlines())), (line, done.stdout[:200])
    assert answered or name == "watch", name
