"""The Dockerfile of the nightly job, read without a daemon: what it copies, runs and starts is there."""

from __future__ import annotations

import json
import re
import shlex
import tomllib

import pytest

from analyzer.cli import command_named
from tests import REPOSITORY

FILE = REPOSITORY / "contrib" / "docker" / "Dockerfile"
SECRET = re.compile(r"SECRET|TOKEN|PASSWORD|API_?KEY|ANALYZER_DELIVER|https?://", re.IGNORECASE)
STEPS = [line.split(maxsplit=1) for line in FILE.read_text("utf-8").splitlines() if line and not line.startswith("#")]
PROJECT = tomllib.loads((REPOSITORY / "pyproject.toml").read_text("utf-8"))


def arguments(instruction: str) -> list[str]:
    """What stands behind each of the instructions of that name, in order."""
    return [rest for name, rest in STEPS if name == instruction]


def test_its_instructions_are_known() -> None:
    """Two stages, each of an image of a Python that the program runs on; every line is one instruction."""
    known = {"FROM", "WORKDIR", "COPY", "RUN", "ENV", "USER", "VOLUME", "ENTRYPOINT", "CMD"}
    assert {name for name, _ in STEPS} == known
    images = arguments("FROM")
    assert [image.partition(" ")[2] for image in images] == ["AS build", ""]
    for image in images:
        version = re.match(r"python:(\d+)\.(\d+)-slim", image)
        assert version is not None
        least = re.fullmatch(r">=(\d+)\.(\d+)", PROJECT["project"]["requires-python"])
        assert least is not None
        assert tuple(map(int, version.groups())) >= tuple(map(int, least.groups()))


def test_it_copies_what_there_is_and_all_that_a_build_needs() -> None:
    """Named files and folders of the checkout, never all of it: what lies beside them may be secret."""
    copied = [source for rest in arguments("COPY") if "--from" not in rest for source in shlex.split(rest)[:-1]]
    assert all((REPOSITORY / source).exists() for source in copied)
    assert "." not in copied
    wheel = PROJECT["tool"]["hatch"]["build"]["targets"]["wheel"]
    needed = {"pyproject.toml", PROJECT["project"]["readme"], *wheel["packages"], *wheel["force-include"]}
    needed |= set(wheel.get("shared-data", {}))
    for path in needed:
        assert any(path == source or path.startswith(f"{source}/") for source in copied), path


def test_it_installs_as_the_readme_says() -> None:
    """With hashes, then the program alone."""
    readme = (REPOSITORY / "README.md").read_text("utf-8")
    install = [part for run in arguments("RUN") for part in run.split(" && ") if "pip install" in part]
    assert len(install) == 2
    for part in install:
        options = part.partition("--no-cache-dir ")[2]
        assert f"pip install -q {options}" in readme


def test_it_runs_as_nobody_of_weight_and_holds_no_secret() -> None:
    """The user is a number that is not root's, so that a cluster can hold it; it is made before it is used."""
    (user,) = arguments("USER")
    assert int(user) > 0
    assert any(f"useradd --uid {user} " in run for run in arguments("RUN"))
    assert not [step for step in STEPS if SECRET.search(" ".join(step))]


@pytest.mark.parametrize("line", [None, "nightly /logs --keep 180d --strict"])
def test_what_it_starts_is_a_command_line_of_the_program(line: str | None) -> None:
    """The entry is the installed script; what it is given by default, and by the page, is parsed by the command."""
    (entry,) = (json.loads(rest) for rest in arguments("ENTRYPOINT"))
    assert [*entry] == [*PROJECT["project"]["scripts"]]
    (given,) = (json.loads(rest) for rest in arguments("CMD"))
    name, *rest = line.split() if line else given
    command = command_named(name)
    assert command.make_context(name, rest).params["paths"] == ("/logs",)
    if line:
        assert line in (REPOSITORY / "docs" / "how-to" / "nightly.md").read_text("utf-8")


def test_its_store_is_on_the_volume() -> None:
    """By the variable that the program reads; the page is written beside it."""
    (volume,) = arguments("VOLUME")
    assert arguments("WORKDIR")[-1] == volume
    (variables,) = arguments("ENV")
    assert f"ANALYZER_STORE={volume}/fleet.duckdb" in variables
