"""What the tests of a lake share. Where the extra `lake` is not installed there are none."""

from importlib.util import find_spec

if find_spec("deltalake") is None:
    print("THE LAKE IS NOT TESTED: the extra `lake` is not installed")
    collect_ignore_glob = ["test_*.py"]
else:
    from tests.lake.both import begun, both, fed, full  # noqa: F401 - fixtures
