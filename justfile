# Everyday commands. `just` lists them; each runs in the environment that the test command of README.md makes.

python := ".venv-test/bin/python"

_list:
    @{{ just_executable() }} --list --unsorted

# Everything that CI runs: style, types, layers, unused code, all tests
check:
    {{ python }} -m tests

# The tests of some areas: `just test redaction`, `just test cli/test_check.py`
test +areas:
    {{ python }} -m tests {{ areas }}

# Style, format, types and layers alone
style:
    {{ python }} -m tests style

# The generated parts of the reference pages, then the site
docs:
    {{ python }} -m tests.reference
    {{ python }} -m mkdocs build --strict

# The benchmarks, or some by name: `just bench append`
bench *names:
    {{ python }} -m benchmarks {{ names }}
