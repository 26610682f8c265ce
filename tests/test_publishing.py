"""What registries, marketplaces and package indexes read of the repository."""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import subprocess
import tomllib
from pathlib import Path
from typing import Any

import click
import pytest
import yaml

from analyzer.cli import COMMANDS, command_named
from tests import REPOSITORY, reference

PROJECT = tomllib.loads((REPOSITORY / "pyproject.toml").read_text("utf-8"))["project"]
PLUGIN = "contrib/claude-code/.claude-plugin/plugin.json"


def loaded(name: str) -> Any:
    """A file of JSON or YAML."""
    return yaml.safe_load((REPOSITORY / name).read_text("utf-8"))


def test_every_file_names_the_same_program_and_version() -> None:
    """A release that forgets one of them fails here."""
    server = loaded("server.json")
    (package,) = server["packages"]
    versions = [PROJECT["version"], server["version"], package["version"], loaded("CITATION.cff")["version"]]
    assert set(versions) == {loaded(PLUGIN)["version"]}
    assert {PROJECT["name"], package["identifier"], server["name"].rpartition("/")[2]} == {loaded(PLUGIN)["name"]}
    assert len(server["description"]) <= 100
    assert f"<!-- mcp-name: {server['name']} -->" in (REPOSITORY / "README.md").read_text("utf-8")
    assert package["packageArguments"][0]["value"] in COMMANDS


def test_the_marketplace_names_plugins_that_are_there() -> None:
    """Each has a folder with a plugin of that name and description."""
    for plugin in loaded(".claude-plugin/marketplace.json")["plugins"]:
        own = json.loads((REPOSITORY / plugin["source"] / ".claude-plugin" / "plugin.json").read_text("utf-8"))
        assert {name: own[name] for name in ("name", "description", "license", "keywords")} == {
            name: plugin[name] for name in ("name", "description", "license", "keywords")
        }


def test_the_hook_of_pre_commit_is_a_command_with_its_options() -> None:
    """The program has the command and the options that pre-commit would run."""
    (hook,) = loaded(".pre-commit-hooks.yaml")
    _, group, name = shlex.split(hook["entry"])
    command = command_named(group)
    assert isinstance(command, click.Group)
    options = {option for param in command.commands[name].params for option in param.opts}
    assert {word for word in hook["args"] if word.startswith("-")} <= options
    assert re.search(hook["files"], "my-rules.toml")


def test_the_map_for_language_models_is_current() -> None:
    """`python -m tests.reference` would change nothing, and every link leads to a file."""
    text = (REPOSITORY / "llms.txt").read_text("utf-8")
    assert text == reference.llms_txt()
    links = re.findall(r"\]\(([^)#:]+)\)", text)
    assert len(links) > 30
    assert [link for link in links if not (REPOSITORY / link).is_file()] == []


def steps(job: str) -> list[dict[str, Any]]:
    """The steps of a job of the workflow that releases."""
    listed: list[dict[str, Any]] = loaded("contrib/github/release.yml")["jobs"][job]["steps"]
    return listed


def script(name: str) -> str:
    """The script of a step that builds."""
    return str(next(step["run"] for step in steps("build") if step.get("name") == name))


@pytest.mark.parametrize(("tag", "is_refused"), [(f"v{PROJECT['version']}", False), ("v99.0.0", True)])
def test_a_release_names_the_repository_and_its_version(tmp_path: Path, tag: str, is_refused: bool) -> None:
    """The scripts of the workflow fill in the repository; a tag of another version is refused."""
    for name in ("pyproject.toml", "README.md", "server.json"):
        shutil.copy(REPOSITORY / name, tmp_path)
    names = {"GITHUB_SERVER_URL": "https://example.org", "GITHUB_REPOSITORY": "ana/tool", "GITHUB_REF_NAME": tag}
    environment = {**os.environ, **names, "GITHUB_REPOSITORY_OWNER": "ana"}

    def run(step: str) -> int:
        return subprocess.run(
            ["bash", "-eo", "pipefail", "-c", script(step)], cwd=tmp_path, env=environment, check=False
        ).returncode

    assert run("Name the repository") == 0
    urls = tomllib.loads((tmp_path / "pyproject.toml").read_text("utf-8"))["project"]["urls"]
    assert urls["Repository"] == "https://example.org/ana/tool"
    assert urls["Issues"] == "https://example.org/ana/tool/issues"
    assert json.loads((tmp_path / "server.json").read_text("utf-8"))["name"] == "io.github.ana/agent-error-analyzer"
    assert "OWNER" not in (tmp_path / "README.md").read_text("utf-8")
    assert bool(run("Refuse a tag of another version")) is is_refused


def test_a_release_keeps_no_token() -> None:
    """Only the job that publishes may ask for an identity to publish with, and nothing names a secret."""
    workflow = loaded("contrib/github/release.yml")
    assert workflow["permissions"] == {"contents": "read"}
    assert workflow["jobs"]["publish"]["permissions"] == {"id-token": "write"}
    text = (REPOSITORY / "contrib" / "github" / "release.yml").read_text("utf-8")
    assert "secrets." not in text and "password" not in text
    assert all("run" not in step for step in steps("publish"))
