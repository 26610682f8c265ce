"""Where a log may stand: folders that others cannot tamper with, and file systems whose appends are atomic."""

from __future__ import annotations

import errno
import os
import re
import stat

from analyzer.events.appending import system

PART = re.compile(r"^events-(\d{4}-\d{2}-\d{2})(?:\.w([0-9a-f]{8}))?(?:\.(\d{3,}))?\.jsonl$")
"""A file of a log: its UTC day, its only writer where it has one alone, and its number from the second on."""

LOCAL = frozenset(
    {
        "apfs",
        "aufs",
        "bcachefs",
        "btrfs",
        "exfat",
        "ext2",
        "ext3",
        "ext4",
        "f2fs",
        "hfs",
        "hfsplus",
        "jfs",
        "nilfs2",
        "overlay",
        "ramfs",
        "reiserfs",
        "rootfs",
        "tmpfs",
        "ufs",
        "vfat",
        "xfs",
        "zfs",
    }
)
"""File systems that serialise O_APPEND writes of all processes. Others (NFS, SMB, 9p, FUSE, virtiofs) may not."""


def absolute(path: str | os.PathLike[str]) -> str:
    """The path from the root; as it is where it is relative and there is no working directory to begin from."""
    text = os.fsdecode(path)
    try:
        return os.path.abspath(text)
    except OSError:
        return text


def make_folder(folder: str, *, synced: bool) -> None:
    """Make sure of a folder (an absolute path) for this user alone, with its parents; `synced`: fsync where it is made.

    A folder that others may write to is closed to them if it holds nothing but a log, else it is refused: it serves
    other ends, and they could put files of theirs in the place of ours. A sticky one (`/tmp`) keeps ours safe.

    Raises:
        OSError: it cannot be made, or others may write to it.
    """
    made = True
    try:
        system.mkdir(folder, 0o700)
    except FileNotFoundError:
        make_folder(os.path.dirname(folder), synced=synced)
        system.mkdir(folder, 0o700)
    except FileExistsError:
        made = False
    found = system.stat(folder)
    mode = stat.S_IMODE(found.st_mode)
    if not stat.S_ISDIR(found.st_mode):
        raise NotADirectoryError(errno.ENOTDIR, "not a folder", folder)
    if made:
        if mode & 0o700 != 0o700:
            system.chmod(folder, 0o700)  # a umask has taken what we need ourselves
        if synced:
            system.sync_folder(os.path.dirname(folder))
    elif mode & 0o022 and not mode & stat.S_ISVTX and system.user() is not None:
        only_log = all(PART.match(name) or name.startswith(".") for name in system.listdir(folder))
        if found.st_uid != system.user() or not only_log:
            raise PermissionError(errno.EPERM, "others may write to this folder; try chmod go-w", folder)
        system.chmod(folder, mode & ~0o022)


def is_local(folder: str) -> bool:
    """Whether the folder stands on a file system of `LOCAL`; true where the system has no table of mounts."""
    kind = filesystem_of(folder)
    return kind is None or kind in LOCAL


def filesystem_of(folder: str) -> str | None:
    """The type of the file system that a folder stands on, as proc(5) lists it; None where there is no such list."""
    kind, longest = None, -1
    path = os.path.realpath(folder) + "/"
    for line in system.mounts().splitlines():
        place, _, source = line.partition(" - ")
        fields = place.split(" ")
        if len(fields) < 5 or not source:
            continue
        mount = re.sub(r"\\([0-7]{3})", lambda octal: chr(int(octal[1], 8)), fields[4]).rstrip("/") + "/"
        # A later line with the same place is mounted over the earlier one.
        if path.startswith(mount) and len(mount) >= longest:
            kind, longest = source.split(" ", 1)[0], len(mount)
    return kind
