"""A process gives up writing to files, for good, where the kernel has Landlock (Linux 5.13 and later).

What is open stays open. Interface: https://docs.kernel.org/userspace-api/landlock.html and <linux/landlock.h>.
"""

from __future__ import annotations

import ctypes
import os
import sys

_CREATE_RULESET, _RESTRICT_SELF = 444, 446
"""Numbers of the system calls, the same on every architecture."""
_ASK_VERSION = 1
_NO_NEW_PRIVILEGES = 38
# From <linux/landlock.h>: write a file, remove a folder, remove a file, make a character device, folder, file, socket,
# pipe, block device, link.
_WRITING = 1 << 1 | sum(1 << bit for bit in range(4, 13))
_REFER, _TRUNCATE = 1 << 13, 1 << 14
"""Linking across folders, and truncating: known from versions 2 and 3 on."""
_CONNECTING = 1 << 0 | 1 << 1
"""To bind and to connect TCP sockets: known from version 4 on."""


def forbid_writing(*, connecting: bool = False) -> bool:
    """Forbid this thread, and those it starts, to change files, and to use TCP unless it is `connecting`; whether the
    kernel holds them to it.
    """
    if sys.platform != "linux":
        return False
    libc = ctypes.CDLL(None, use_errno=True)
    version = libc.syscall(_CREATE_RULESET, None, 0, _ASK_VERSION)
    if version < 1:
        return False
    files = _WRITING | (_REFER if version >= 2 else 0) | (_TRUNCATE if version >= 3 else 0)
    network = _CONNECTING if version >= 4 and not connecting else 0
    # What is named here and allowed by no rule is forbidden; an older kernel knows the first of both numbers alone.
    handled = (ctypes.c_uint64 * 2)(files, network)
    ruleset = libc.syscall(_CREATE_RULESET, handled, ctypes.c_size_t(16 if version >= 4 else 8), 0)
    if ruleset < 0:
        return False
    try:
        zero = ctypes.c_ulong(0)
        if libc.prctl(_NO_NEW_PRIVILEGES, ctypes.c_ulong(1), zero, zero, zero) != 0:
            return False
        return bool(libc.syscall(_RESTRICT_SELF, ruleset, 0) == 0)
    finally:
        os.close(ruleset)
