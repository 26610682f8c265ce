"""Start the command line: the script `analyzer` and `python -m analyzer` run this."""

import gc
import os
import sys


def main() -> None:
    """Run a command. An agent waits for `hook`: it runs without the rest of the command line."""
    words = sys.argv[1:]
    if words[:1] == ["hook"] and not any(word.startswith("-") for word in words) and len(words) < 4:
        gc.disable()  # it ends before anything is worth collecting
        from analyzer.recovery.hooks import AGENTS, run

        if len(words) == 1 or words[1] in {*AGENTS, "stop"} or words[1:] == ["status"]:
            # Everything is written by then, and the interpreter's tear-down takes as long as the
            # append.
            os._exit(run(*words[1:]) if len(words) > 1 else run(None))
        gc.enable()
    from analyzer.cli import main as command_line

    command_line()


if __name__ == "__main__":
    main()
