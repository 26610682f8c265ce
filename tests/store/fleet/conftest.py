"""What the tests of a shared table share. Where the extra `lake` is not installed there are none."""

from importlib.util import find_spec

if find_spec("deltalake") is None:
    print("SHARED TABLES ARE NOT TESTED: the extra `lake` is not installed")
    collect_ignore_glob = ["test_*.py"]
