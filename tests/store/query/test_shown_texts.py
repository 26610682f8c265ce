"""Texts beside numbers: what a row says is what all of those say that it counts."""

from __future__ import annotations

import re
from collections import Counter
from datetime import datetime
from pathlib import Path
from tempfile import TemporaryDirectory

from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from analyzer.events import Event, encode
from analyzer.store import Store, catalogue, open_store
from tests import REPOSITORY
from tests.analysis.histories import line

VALUES = st.one_of(
    st.integers(0, 3).map(str),
    st.integers(1, 9_000).map(lambda number: f"{number} s"),
    st.sampled_from(["/var/lib/a.sock", "'tea'", '"cup"', "10.0.0.7:80", "0x1f", "ops@example.org", "v1.2-rc"]),
)
FORMS = st.sampled_from(["gate {} shut by {}", "Exit code {}", "Exit code {}, {}", "shard {} is parked", "HTTP {}: {}"])
MESSAGES = st.builds(lambda form, *values: form.format(*values), FORMS, VALUES, VALUES)
NUMBERS = {"errors", "failures", "message_failures", "events"}
"""Columns of catalogue queries that count those who say the message beside them."""


def store_of(messages: list[str], folder: Path) -> Store:
    """A store in which each message is an unknown error, and what a failed tool said."""
    lines = []
    for number, message in enumerate(messages):
        when, kind = f"2026-11-02T08:00:{number:02}", "exit_code" if message.startswith("Exit") else "other"
        facts = {"caller": "probe", "reason": "unknown", "facts": {"message": message}}
        lines.append(line(f"e-{number}", at=when, session=f"s-{number}", **facts))
        failed = {"caller": "probe", "tool": "Bash", "kind": kind, "message": message}
        lines.append(encode(Event("tool.failed", datetime.fromisoformat(when), f"s-{number}", failed, f"t-{number}")))
    (folder / "log.jsonl").write_bytes(b"".join(lines))
    store = open_store(":memory:")
    store.ingest([str(folder)])
    return store


def says(shown: str, message: str) -> bool:
    """Whether a text is the message, with `<*>` for some values; a template writes keys of JSON bare."""
    pattern = re.escape(shown).replace(re.escape("<*>"), ".+")
    return any(re.fullmatch(pattern, text) for text in (message, re.sub(r'"(\w+)":', r"\1:", message)))


@settings(max_examples=15, phases=[Phase.explicit, Phase.generate])
@given(st.lists(MESSAGES, min_size=1, max_size=30))
def test_a_text_is_what_all_say_that_stand_behind_its_number(messages: list[str]) -> None:
    """Of unknown errors, of failed tools and of their kinds; as many say so as the row counts, and exit codes stay."""
    with TemporaryDirectory() as folder, store_of(messages, Path(folder)) as store:
        unknown = store.view("errors").filter(counts_as_unknown=True)
        for group in store.query("unknown-messages", limit=100).iter_rows(named=True):
            own = unknown.filter(fingerprint=group["fingerprint"])["message"].to_list()
            assert len(own) == group["errors"] and all(says(group["message"], message) for message in own)
        failed = store.query("tools-messages", limit=100)
        assert failed["failures"].sum() == len(messages)
        for group in failed.iter_rows(named=True):
            assert sum(says(group["message"], message) for message in messages) >= group["failures"]
        for kind in store.query("tools-by-kind").iter_rows(named=True):
            assert sum(says(kind["message"], message) for message in messages) >= kind["message_failures"]
        codes = Counter(message for message in messages if re.fullmatch(r"Exit code \d", message))
        shown = dict(failed.select("message", "failures").iter_rows())
        assert {text: shown.get(text) for text in codes} == dict(codes)


def test_errors_without_a_message_are_counted_by_what_they_have(tmp_path: Path) -> None:
    """A row that says a status counts errors of that status alone."""
    bare = ({"status": 418}, {"status": 418}, {"status": 451}, {"code": "E_TEA"}, {})
    with open_store(":memory:") as store:
        lines = [
            line(f"e-{number}", at="2026-11-02T08:00:00", session="s", caller="probe", reason="unknown", facts=facts)
            for number, facts in enumerate(bare)
        ]
        (tmp_path / "log.jsonl").write_bytes(b"".join(lines))
        store.ingest([str(tmp_path)])
        found = dict(store.query("unknown-messages").select("message", "errors").iter_rows())
        unknown = store.view("errors").filter(counts_as_unknown=True)
        assert found["status 418"] == unknown.filter(status=418).height == 2
        assert sum(found.values()) == unknown.height


def test_a_text_beside_a_number_says_whose_it_is() -> None:
    """A query that counts shows what all say, or calls its text a sample."""
    for query in catalogue().values():
        said = {column.name: column.description for column in query.header.columns}
        if "message" in said and not said.keys().isdisjoint(NUMBERS):
            assert re.match("a sample: |what (all|most) of ", said["message"])


def test_the_samples_texts_match_all_that_their_rows_count() -> None:
    """The same holds on the sample logs, whose messages differ in numbers."""
    with open_store(":memory:") as store:
        store.ingest([str(REPOSITORY / "sample_events")])
        errors = store.view("errors").filter(counts_as_unknown=True)
        differing = 0
        for group in store.query("unknown-messages").iter_rows(named=True):
            own = errors.filter(fingerprint=group["fingerprint"])["message"].unique().to_list()
            differing += len(own) > 1
            assert all(says(group["message"], message) for message in own)
        assert differing
