"""The most memory that this process has had."""

import resource
import sys
from pathlib import Path


def peak_megabytes() -> int:
    """In MiB, since this program began.

    On Linux `ru_maxrss` is at least what the process that started this one held at that moment, and a process that has
    run many tests holds much: the kernel's own account of the program in hand is asked there.
    """
    if sys.platform != "linux":
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 2**20
    (peak,) = [line for line in Path("/proc/self/status").read_text("ascii").splitlines() if line.startswith("VmHWM:")]
    return int(peak.split()[1]) // 2**10
