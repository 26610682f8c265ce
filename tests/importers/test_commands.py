"""The head of a shell command."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from analyzer.importers.commands import answers_by_one, command_head
from tests import each_row


@each_row(
    "command, head",
    [
        ("pytest -q tests/test_cart.py", "pytest"),
        ("go test ./...", "go test"),
        ("gh api repos/o/r/pulls --jq .title", "gh api"),
        ("gh pr create --title secret", "gh pr create"),
        ("git -C /home/ada commit -m 'private words'", "git"),
        ("git commit -m 'private words'", "git commit"),
        ("cd /w/cart && npm run test:unit -- --watch=false", "npm run test:unit"),
        ("TOKEN=abc CI=1 sudo -E ./node_modules/.bin/jest", "jest"),
        ("python3.12 -m pytest -x", "python3.12 -m pytest"),
        ("python manage.py migrate", "python"),
        ("bash -lc 'cd x; cargo clippy --all'", "cargo clippy"),
        (["bash", "-lc", "rg -n needle | head"], "rg"),
        (["/usr/bin/rg", "needle"], "rg"),
        ("timeout -k 5 120 make check", "make check"),
        ("cat notes.txt | grep ada@example.org", "cat"),
        ("set -e\ncd web\npnpm build", "pnpm build"),
        ("mysql -u root -phunter2 shop", "mysql"),
        ("! rg needle", "rg"),
        ("[ -f cart.py ]", "["),
        ("command -v needle", "command"),
        ("echo 'never closed", "echo"),
        ("cd /only/there", "cd"),
        ("C:\\tools\\rg.exe needle", None),
        ("$(rg) x", "rg"),
        ("", None),
        (None, None),
        ([1], None),
    ],
)
def test_program_and_subcommand_and_no_argument(command: object, head: str | None) -> None:
    """Steps on the way, variables and what runs another program are left out."""
    assert command_head(command) == head


@given(
    st.lists(
        st.sampled_from(["git", "&&", "|", "Hunter2", "--k=v", "'", '"', "bash", "-c", "\\", "\n", "a/b", "$x", "sudo"])
    )
)
def test_anything_is_told_or_not_and_no_argument_gets_out(words: list[str]) -> None:
    """A word with a capital letter is never a subcommand; at the head it is a program."""
    head = command_head(" ".join(words)) or ""
    assert len(head) < 100
    assert "Hunter2" not in head.split()[1:]
    assert "--k=v" not in head


@each_row(
    "command, printed, is_answer",
    [
        ("grep needle notes.txt", "", True),
        ("cd /w && grep -rn needle .", "", True),
        ("cd /w && grep -rn needle .", "bash: line 1: cd: /w: No such file or directory", False),
        ("cd /w && grep -rn needle .", "cd: no such file or directory: /w", False),
        ("cat notes.txt | grep needle", "", True),
        ("grep needle notes.txt | python count.py", "", False),
        ("grep needle notes.txt | rg other", "", True),
        ("set -o pipefail; make | grep needle", "", False),
        ("make && grep needle log", "", False),
        ("make; grep needle log", "", True),
        ("make || grep needle log", "", True),
        ("grep needle log || make", "", False),
        ("diff a b", "< error: x\n> y", True),
        ("cmp a b", "a b differ: char 1, line 1", True),
        ("test -f a", "", True),
        ("[ -f a ]", "", True),
        ("[[ -f a ]] && [[ -f b ]]", "", True),
        ("test -f a && npm test", "", False),
        ("pgrep -f server", "", True),
        ("which node", "", True),
        ("command -v node", "", True),
        ("command pytest", "", False),
        ("git diff --exit-code", "", True),
        ("git commit -m x", "", False),
        ("! grep needle log", "", True),
        ("LC_ALL=C sudo grep needle log", "", True),
        ("bash -lc 'cd x; rg needle | rg other'", "", True),
        (["bash", "-lc", "rg -n needle src"], "", True),
        (["/usr/bin/rg", "needle"], "", True),
        (["bash", "-lc", "pytest"], "", False),
        ("grep needle log\n", "", True),
        ("grep needle log\npytest", "", False),
        ("cd /w", "", False),
        ("", "", False),
        (None, "", False),
        ([1], "", False),
    ],
)
def test_exit_status_one_of_some_programs_is_an_answer(command: object, printed: str, is_answer: bool) -> None:
    """It is where no other command can have given it: not a step that complains, not one joined by `&&`."""
    assert answers_by_one(command, printed) == is_answer
