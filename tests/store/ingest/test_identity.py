"""Which file it is, told by content; and what has become of files that are not what they were."""

from __future__ import annotations

import fcntl
import gzip
import os
from collections.abc import Callable
from pathlib import Path

import pytest
import zstandard

from analyzer.store import Store
from analyzer.store.ingest.inputs import Input

Native = Callable[..., bytes]


def incidents(store: Store) -> list[tuple[str, str | None]]:
    """Name and incident of each source."""
    rows = store.sql("select source_path, incident from sources order by source_path, generation").rows()
    return [(Path(path).name, incident) for path, incident in rows]


@pytest.mark.parametrize(("kept", "incident"), [(1, "truncated"), (9, "rewritten")])
def test_a_file_that_is_not_what_it_was_says_so(
    memory: Store, native: Native, tmp_path: Path, kept: int, incident: str
) -> None:
    """The former row keeps its figures and names the incident; the content now is another generation."""
    path = tmp_path / "log"
    path.write_bytes(native("a") + native("b"))
    memory.ingest([str(path)])
    path.write_bytes(b"".join(native(f"new-{number}") for number in range(kept)))
    memory.ingest([str(path)])
    assert incidents(memory) == [("log", incident), ("log", None)]
    assert memory.sql("select count(*) from events").item() == 2 + kept


def test_rotation_is_no_incident(memory: Store, native: Native, tmp_path: Path) -> None:
    """The old content is found again under its new name, in whatever order names are read."""
    (tmp_path / "log").write_bytes(native("a"))
    memory.ingest([str(tmp_path)])
    (tmp_path / "log").rename(tmp_path / "log.1")
    (tmp_path / "log").write_bytes(native("b"))
    memory.ingest([str(tmp_path)])
    assert incidents(memory) == [("log", None), ("log.1", None)]


def test_a_file_that_is_gone_before_its_end_was_read_says_so(memory: Store, native: Native, tmp_path: Path) -> None:
    """One that was read to its end may go."""
    whole, torn = tmp_path / "whole", tmp_path / "torn"
    whole.write_bytes(native("a"))
    torn.write_bytes(native("b") + native("c")[:30])
    with torn.open("ab") as handle:
        fcntl.flock(handle, fcntl.LOCK_SH)
        memory.ingest([str(tmp_path)])
    whole.unlink()
    torn.unlink()
    memory.ingest([str(tmp_path)])
    assert incidents(memory) == [("torn", "vanished"), ("whole", None)]


def test_two_files_that_begin_alike_are_two(memory: Store, native: Native, tmp_path: Path) -> None:
    """The first 4 KiB are the same, what follows is not; one of them grows, the other is renamed."""
    same = native("same", text="x" * 5_000)
    first, second = tmp_path / "1", tmp_path / "2"
    first.write_bytes(same + native("a"))
    second.write_bytes(same + native("b"))
    memory.ingest([str(tmp_path)])
    second.rename(tmp_path / "0")
    with first.open("ab") as handle:
        handle.write(native("c"))
    result = memory.ingest([str(tmp_path)])
    assert set(memory.sql("select event_id from events")["event_id"]) == {"same", "a", "b", "c"}
    assert (result.total.lines, result.total.events) == (1, 1)


def test_files_of_no_and_of_one_byte_grow_into_logs(memory: Store, native: Native, tmp_path: Path) -> None:
    """Too short to be told from each other, and nothing of them is lost."""
    for name, content in (("none", b""), ("one", b"\n"), ("brace", b"{")):
        (tmp_path / name).write_bytes(content)
    memory.ingest([str(tmp_path)])
    for name, content in (("none", native("a")), ("one", b"\n" + native("b")), ("brace", native("c"))):
        (tmp_path / name).write_bytes(content)
    memory.ingest([str(tmp_path)])
    assert set(memory.sql("select event_id from events")["event_id"]) == {"a", "b", "c"}


def test_a_hard_link_gives_nothing_twice(memory: Store, native: Native, tmp_path: Path) -> None:
    """Both names grow together."""
    (tmp_path / "a").write_bytes(native("a"))
    (tmp_path / "b").hardlink_to(tmp_path / "a")
    memory.ingest([str(tmp_path)])
    with (tmp_path / "a").open("ab") as handle:
        handle.write(native("b"))
    result = memory.ingest([str(tmp_path)])
    assert (result.total.events, result.total.duplicates) == (1, 1)


def test_the_same_size_and_time_do_not_hide_another_content(memory: Store, native: Native, tmp_path: Path) -> None:
    """A copy that keeps its times, in the place of a file of the same length."""
    path = tmp_path / "log"
    path.write_bytes(native("a"))
    memory.ingest([str(path)])
    times = path.stat()
    path.write_bytes(native("b"))
    os.utime(path, ns=(times.st_atime_ns, times.st_mtime_ns))
    memory.ingest([str(path)])
    assert set(memory.sql("select event_id from events")["event_id"]) == {"a", "b"}


@pytest.mark.parametrize("codec", ["gzip", "zstd"])
def test_damage_at_any_byte_of_an_archive_is_told(memory: Store, native: Native, tmp_path: Path, codec: str) -> None:
    """Cut off anywhere, or with a byte changed: never read as whole, and never an event that was not written."""
    body = native("a") + native("b")
    if codec == "gzip":
        packed = gzip.compress(body, mtime=0)
    else:
        packed = zstandard.ZstdCompressor(write_checksum=True).compress(body)
    header = 10 if codec == "gzip" else 6
    paths = []
    for cut in range(header, len(packed)):
        paths.append(tmp_path / f"cut-{cut}")
        paths[-1].write_bytes(packed[:cut])
    for place in range(header, len(packed)):
        paths.append(tmp_path / f"flip-{place}")
        paths[-1].write_bytes(packed[:place] + bytes([packed[place] ^ 0x10]) + packed[place + 1 :])
    result = memory.ingest([str(path) for path in paths])
    assert len(result.sources) == len(paths)
    assert {progress.status for progress in result.sources} == {"damaged"}
    assert set(memory.sql("select event_id from events")["event_id"]) <= {"a", "b"}
    assert set(memory.sql("select incident from sources")["incident"]) == {"damaged"}


@pytest.mark.parametrize("pack", [bytes, gzip.compress], ids=["plain", "gzip"])
@pytest.mark.parametrize("vary", [False, True], ids=["one length", "all lengths"])
def test_files_that_begin_alike_cost_what_they_hold(
    memory: Store,
    native: Native,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    vary: bool,
    pack: Callable[[bytes], bytes],
) -> None:
    """A hundred more, then all of them renamed: what is looked at grows with their number, not with its square."""
    head = native("head", filler="x" * 2_000)

    def write(folder: Path, first: int) -> None:
        folder.mkdir(exist_ok=True)
        for number in range(first, first + 100):
            line = native(f"e-{number:03}", filler="y" * (number if vary else 1))
            (folder / f"{number}.jsonl").write_bytes(pack(head + line))

    write(tmp_path / "logs", 0)
    memory.ingest([str(tmp_path / "logs")])
    looks: list[int] = []
    between = Input.between

    def counted(source: Input, start: int, end: int) -> bytes:
        looks.append(end - start)
        return between(source, start, end)

    monkeypatch.setattr(Input, "between", counted)
    write(tmp_path / "logs", 100)
    assert memory.ingest([str(tmp_path / "logs")]).total.events == 100
    assert len(looks) < 40 * 200
    looks.clear()
    (tmp_path / "logs").rename(tmp_path / "moved")
    result = memory.ingest([str(tmp_path / "moved")])
    assert (result.unchanged, result.total.lines) == (200, 0)
    assert len(looks) < 40 * 200


def test_the_same_id_with_other_content_is_a_conflict(memory: Store, native: Native, tmp_path: Path) -> None:
    """The first one counts, within a file and between files; the other is in quarantine with its place."""
    first = native("a", text="one") + native("b") + native("a", text="two")
    (tmp_path / "1").write_bytes(first)
    (tmp_path / "2").write_bytes(native("b", facts={"message": "other"}) + native("b"))
    result = memory.ingest([str(tmp_path / "1")])
    assert (result.total.events, result.total.quarantined, result.total.duplicates) == (2, 1, 0)
    result = memory.ingest([str(tmp_path / "2")])
    assert (result.total.events, result.total.quarantined, result.total.duplicates) == (0, 1, 1)
    rows = memory.sql("select line, byte_offset, why, detail from quarantine order by source_path").rows()
    assert rows == [(3, len(first) - len(native("a", text="two")), "conflict", "id a"), (1, 0, "conflict", "id b")]


def test_unknown_versions_and_types_are_kept_and_flagged(memory: Store, native: Native, tmp_path: Path) -> None:
    """A newer writer loses nothing to an older reader."""
    newer = native("a").replace(b'{"v":1,', b'{"v":9,')
    newer = newer[: newer.rindex(b',"crc"')] + b"}\n"
    (tmp_path / "log").write_bytes(native("known") + native("type", "tea.brewed", cups=2) + newer)
    memory.ingest([str(tmp_path / "log")])
    rows = memory.sql("select event_id, schema_version, recognised from events order by source_line").rows()
    assert rows == [("known", 1, True), ("type", 1, False), ("a", 9, False)]
    assert memory.sql("select payload from events where event_id = 'type'").item() == '{"cups":2}'
