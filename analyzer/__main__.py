"""`python -m analyzer`: the command line, where its script is not on the path."""

from analyzer.cli import main

if __name__ == "__main__":
    main()
