"""Small files that people write: what they may cost is known before anything parses them."""

from __future__ import annotations

import os
import tomllib
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from analyzer.classifier.rules.loading import BUILT_IN, default_ruleset, ruleset_for
from analyzer.config_files import MOST_BYTES, MOST_LEVELS, content, opened, toml
from analyzer.errors import RulesError
from tests.cli.conftest import Run, forks, run

__all__ = ["forks", "run"]

RULE = '[[rule]]\nid = "r{number}"\nreason = "unknown"\nsource = "x"\nexamples = ["a", "b"]\ncounter_examples = ["c"]\n'


@pytest.mark.parametrize(
    "text",
    [
        ".".join("a" * 50_000) + " = 1",
        "[" + ".".join("a" * 50_000) + "]",
        "x = " + "[" * 50_000,
        "x = " + "{a = " * 20_000,
        'x = """' + '""""\ny = {' + "a." * 30 + "b = 1}",
        "x = {y = '''z'''', " + "a." * 30 + "b = 1}",
        "'a'." * 20 + '"b" = 1',
    ],
    ids=["key", "table", "array", "inline table", "behind a text", "behind quotes", "quoted keys"],
)
def test_what_is_nested_deeply_is_refused_before_it_is_parsed(monkeypatch: pytest.MonkeyPatch, text: str) -> None:
    """A parser of TOML takes gigabytes for a key of 50,000 parts."""

    def parse(_: str) -> dict[str, Any]:
        raise AssertionError("it was parsed")

    monkeypatch.setattr(tomllib, "loads", parse)
    with pytest.raises(ValueError, match=f"nested deeper than {MOST_LEVELS} levels"):
        toml(text.encode())


@given(
    st.lists(
        st.tuples(
            st.text(st.sampled_from("abc"), min_size=1),
            st.one_of(
                st.sampled_from(["'" + "." * 99 + "'", '"' + "[{" * 50 + '"', '"""\n' + "a." * 50 + '\n"""', "1.5"]),
                st.sampled_from(["'''" + "[" * 60 + "'''", '"\\"' + "." * 50 + '"', "[[1, 2], [3.5]]", "{a.b = 1}"]),
            ),
        ),
        unique_by=lambda pair: pair[0],
    )
)
def test_what_texts_and_comments_hold_is_no_nesting(pairs: list[tuple[str, str]]) -> None:
    """Whatever stands in quotes, the values are those of a parser that bounds nothing."""
    text = "".join(f"# {'.' * 60}\n{name} = {value}  # {'[' * 60}\n" for name, value in pairs)
    assert toml(text.encode()) == tomllib.loads(text)


def test_the_built_in_rules_are_far_from_every_bound() -> None:
    """Their file has less than a seventh of the bytes that one may have."""
    assert len(Path(BUILT_IN).read_bytes()) < MOST_BYTES / 7
    assert toml(Path(BUILT_IN).read_bytes())["rule"]


def test_only_regular_files_of_bounded_size_are_read(tmp_path: Path) -> None:
    """A pipe that nobody writes to is refused at once, as are folders, devices and what is too large."""
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "large").write_bytes(b"#" * (MOST_BYTES + 1))
    (tmp_path / "link").symlink_to(tmp_path / "large")
    for name, says in (("pipe", "a pipe"), (".", "a folder"), ("/dev/zero", "a device")):
        with pytest.raises(OSError, match=f"it is {says}, not a file"):
            opened(tmp_path / name)
    for name in ("large", "link"):
        with pytest.raises(OSError, match="larger than 1024 KiB"):
            content(tmp_path / name)


def test_patterns_that_are_too_much_together_are_refused_where_they_become_it(tmp_path: Path) -> None:
    """With the line of the pattern, before all of them are compiled; ten such patterns are not too much."""
    path = tmp_path / "rules.toml"
    texts = [RULE.format(number=n) + f"text = ['zz{n}[a-z]{{1,200}}']\n" for n in range(3_000)]
    path.write_text("".join(texts[:10]))
    assert len(ruleset_for(path).rules) == len(default_ruleset().rules) + 10
    path.write_text("".join(texts))
    with pytest.raises(RulesError, match=r"rules.toml:\d+: the patterns up to 'zz\d+") as caught:
        ruleset_for(path)
    assert "repeat less" in caught.value.hint


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        (("rules", "list", "--rules", "pipe"), 2),
        (("classify", "x", "--rules", "pipe"), 2),
        (("rules", "test", "--corpus", "pipe"), 3),
        (("rules", "test", "--stream", "pipe"), 3),
        (("rules", "backtest", "--labels", "pipe"), 3),
        (("emit", "--from", "pipe"), 3),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, tuple) else "",
)
def test_no_command_waits_for_a_pipe(run: Run, tmp_path: Path, arguments: tuple[str, ...], code: int) -> None:
    """It says that it is one."""
    os.mkfifo(tmp_path / "pipe")
    done = run(*arguments)
    assert (done.returncode, "it is a pipe, not a file" in done.stderr) == (code, True), done.stderr


def test_settings_that_are_nested_deeply_are_told(run: Run, tmp_path: Path) -> None:
    """Of a file that stands in any folder above."""
    (tmp_path / "analyzer.toml").write_text(".".join("a" * 50_000) + " = 1\n")
    done = run("rules", "list")
    assert done.returncode == 2
    assert "no valid TOML: nested deeper than 16 levels" in done.stderr
