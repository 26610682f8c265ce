"""Folders for logs: those that others cannot tamper with,
and file systems whose appends are atomic.
"""

from __future__ import annotations

import errno
import os
import re
import stat

from analyzer.events.appending import system

PART = re.compile(r"^events-(\d{4}-\d{2}-\d{2})(?:\.w([0-9a-f]{8}))?(?:\.(\d{3,}))?\.jsonl$")
"""The name of a file of a log: its UTC day, its writer if it has only one,
and its number from the second on.
"""

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
    """Return the absolute path; a relative one stays as it is if there is no working directory."""
    text = os.fsdecode(path)
    try:
        return os.path.abspath(text)
    except OSError:
        return text


def make_folder(folder: str, *, synced: bool) -> None:
    """Make a folder (an absolute path) and its parents for this user only; `synced` syncs them to the disk.

    A folder that others may write to is closed to them if it holds only a log, else it is refused: others use it, and
    could replace our files. A sticky folder (`/tmp`) is safe.

    Raises:
        OSError: it cannot be made, or others may write to it.
    """
    is_new = True
    try:
        system.mkdir(folder, 0o700)
    except FileNotFoundError:
        make_folder(os.path.dirname(folder), synced=synced)
        system.mkdir(folder, 0o700)
    except FileExistsError:
        is_new = False
    status = system.stat(folder)
    mode = stat.S_IMODE(status.st_mode)
    if not stat.S_ISDIR(status.st_mode):
        raise NotADirectoryError(errno.ENOTDIR, "not a folder", folder)
    if is_new:
        if mode & 0o700 != 0o700:
            system.chmod(folder, 0o700)  # a umask has removed rights that this user needs
        if synced:
            system.sync_folder(os.path.dirname(folder))
    elif mode & 0o022 and not mode & stat.S_ISVTX and system.user() is not None:
        only_log = all(PART.match(name) or name.startswith(".") for name in system.listdir(folder))
        if status.st_uid != system.user() or not only_log:
            raise PermissionError(errno.EPERM, "others may write to this folder; try chmod go-w", folder)
        system.chmod(folder, mode & ~0o022)


def is_local(folder: str) -> bool:
    """Return true if the folder is on a file system of `LOCAL`,
    or the system has no table of mounts.
    """
    kind = filesystem_of(folder)
    return kind is None or kind in LOCAL


def filesystem_of(folder: str) -> str | None:
    """Return the type of a folder's file system, as proc(5) lists it.

    None if there is no such list.
    """
    kind, longest = None, -1
    path = os.path.realpath(folder) + "/"
    for line in system.mounts().splitlines():
        mounted, _, source = line.partition(" - ")
        fields = mounted.split(" ")
        if len(fields) < 5 or not source:
            continue
        mount = re.sub(r"\\([0-7]{3})", lambda octal: chr(int(octal[1], 8)), fields[4]).rstrip("/") + "/"
        # A later line with the same folder is mounted over the earlier one.
        if path.startswith(mount) and len(mount) >= longest:
            kind, longest = source.split(" ", 1)[0], len(mount)
    return kind
