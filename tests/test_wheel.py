"""What people install: the built wheel has everything, and works from anywhere."""

from __future__ import annotations

import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

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
    for pattern in (*(f"analyzer/**/*.{ending}" for ending in ("py", "sql", "toml", "css")), "queries/**/*.sql"):
        for path in REPOSITORY.glob(pattern):
            inside = path.relative_to(REPOSITORY).as_posix()
            assert (inside if inside.startswith("analyzer/") else f"analyzer/{inside}") in names
    assert "analyzer/py.typed" in names
    assert {name.split("/")[0] for name in names if ".dist-info" not in name} == {"analyzer"}


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
