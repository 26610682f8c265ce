"""The command line: what the script `analyzer` and `python -m analyzer` run."""

import sys


def main() -> None:
    """Run a command. What an agent's hook runs is run without the rest of the command line, for which it would wait."""
    if sys.argv[1:] in (["hook"], ["hook", "status"]):
        from analyzer.recovery.hooks import run

        sys.exit(run(sys.argv[2] if len(sys.argv) > 2 else None))
    from analyzer.cli import main as command_line

    command_line()


if __name__ == "__main__":
    main()
