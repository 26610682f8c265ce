"""The command line: what the script `analyzer` and `python -m analyzer` run."""

import gc
import os
import sys


def main() -> None:
    """Run a command. What an agent's hook runs is run without the rest of the command line, for which it would wait."""
    words = sys.argv[1:]
    if words[:1] == ["hook"] and not any(word.startswith("-") for word in words) and len(words) < 4:
        gc.disable()  # it ends before anything is worth collecting
        from analyzer.recovery.hooks import AGENTS, run

        if len(words) == 1 or words[1] in AGENTS or words[1:] == ["status"]:
            # Nothing is left to be written, and taking the interpreter apart takes as long as the append.
            os._exit(run(*words[1:]) if len(words) > 1 else run(None))
        gc.enable()
    from analyzer.cli import main as command_line

    command_line()


if __name__ == "__main__":
    main()
