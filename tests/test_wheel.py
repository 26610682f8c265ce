"""What people install: the built wheel has everything, and works from anywhere."""

from __future__ import annotations

import os
import subprocess
import sys
import zipfile
from importlib import metadata
from pathlib import Path

import pytest
from packaging.requirements import Requirement

from tests import REPOSITORY

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel, built from the checkout."""
    folder = tmp_path_factory.mktemp("wheel")
    command = [sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", str(folder), str(REPOSITORY)]
    subprocess.run(command, check=True, capture_output=True)
    (built,) = folder.glob("*.whl")
    return built


def test_every_source_file_is_in_the_wheel(wheel: Path) -> None:
    """Modules, rules, views, queries; nothing beside the package itself."""
    names = set(zipfile.ZipFile(wheel).namelist())
    endings = ("py", "sql", "toml", "css", "jinja", "js")
    for pattern in (*(f"analyzer/**/*.{ending}" for ending in endings), "queries/**/*.sql"):
        for path in REPOSITORY.glob(pattern):
            inside = path.relative_to(REPOSITORY).as_posix()
            assert (inside if inside.startswith("analyzer/") else f"analyzer/{inside}") in names
    assert "analyzer/py.typed" in names
    tops = {name.partition("/")[0] for name in names if ".dist-info" not in name}
    assert {top for top in tops if not top.endswith(".data")} == {"analyzer"}
    (page,) = [name for name in names if name.endswith(".data/data/share/man/man1/analyzer.1")]
    assert zipfile.ZipFile(wheel).read(page) == (REPOSITORY / "docs/reference/analyzer.1").read_bytes()


def test_the_unpacked_wheel_finds_its_queries(wheel: Path, tmp_path: Path) -> None:
    """Away from the checkout, the catalogue comes from inside the package."""
    zipfile.ZipFile(wheel).extractall(tmp_path)
    code = "from analyzer.cli import main; main()"
    done = subprocess.run(
        [sys.executable, "-P", "-c", f"import sys; sys.path.insert(0, {str(tmp_path)!r}); {code}", "query", "--list"],
        capture_output=True,
        text=True,
        check=True,
        cwd=tmp_path,
    )
    assert "errors-by-reason" in done.stdout
    assert "relays-by-step" in done.stdout


def test_an_installer_puts_program_and_manual_side_by_side(wheel: Path, tmp_path: Path) -> None:
    """As pipx and uv do it: an executable `analyzer` of a distribution that has another name, and its manual page."""
    # Without --ignore-installed pip takes away what is installed here: this checkout.
    quietly = [
        "--quiet",
        "--ignore-installed",
        "--no-deps",
        "--no-index",
        "--no-compile",
        "--disable-pip-version-check",
    ]
    command = [sys.executable, "-m", "pip", "install", *quietly, "--prefix", str(tmp_path), str(wheel)]
    subprocess.run(command, check=True, capture_output=True)
    assert os.access(tmp_path / "bin" / "analyzer", os.X_OK)
    assert (tmp_path / "share/man/man1/analyzer.1").read_text("utf-8").splitlines()[1] == ".TH ANALYZER 1"


@pytest.fixture(scope="module")
def base(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An environment as the README's first command makes it: the wheel and what it depends on, and nothing else."""
    folder = tmp_path_factory.mktemp("base")
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(folder)], check=True)
    (site,) = folder.glob("lib/python*/site-packages")
    zipfile.ZipFile(wheel).extractall(site)
    (information,) = site.glob("*.dist-info")
    asked = list(metadata.Distribution.at(information).requires or ())
    seen: set[str] = set()
    while asked:
        requirement = Requirement(asked.pop())
        if requirement.name in seen or (requirement.marker and not requirement.marker.evaluate({"extra": ""})):
            continue
        seen.add(requirement.name)
        distribution = metadata.distribution(requirement.name)
        asked += distribution.requires or ()
        for top in {file.parts[0] for file in distribution.files or () if file.parts[0] not in {"..", "__pycache__"}}:
            if not (site / top).exists():
                os.symlink(str(distribution.locate_file(top)), site / top)
    return folder / "bin" / "python"


def test_the_base_installation_knows_classify_in_sql(base: Path, tmp_path: Path) -> None:
    """What the first command of the README installs is enough for classify() in ad-hoc SQL."""

    def run(*words: str) -> subprocess.CompletedProcess[str]:
        command = [str(base), "-P", "-c", "from analyzer.cli import main; main()", *words]
        return subprocess.run(command, capture_output=True, text=True, cwd=tmp_path, env={"PATH": os.defpath})

    subprocess.run([str(base), "-c", "import click, duckdb, numpy, polars"], check=True, cwd=tmp_path)
    assert subprocess.run([str(base), "-c", "import pytest"], capture_output=True, cwd=tmp_path).returncode == 1
    run("ingest", str(REPOSITORY / "sample_events"))
    done = run("sql", "select classify('prompt is too long') as reason", "--format", "csv", "--quiet")
    assert (done.stdout, done.stderr, done.returncode) == ('"reason"\n"context_overflow"\n', "", 0)
