"""Names of files whose first character is that of an option, as shells give them for `*`."""

from __future__ import annotations

import os

import click


class PathsCommand(click.Command):
    """A command whose arguments are names of files: one that is there is no option, whatever it begins with."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """As click does it, every name of a file that begins with `-` and is no option led by `./`."""
        options = {name for param in self.get_params(ctx) for name in (*param.opts, *param.secondary_opts)}
        stop = args.index("--") if "--" in args else len(args)
        named = [f"./{one}" if _is_name(one, options) else one for one in args[:stop]]
        return super().parse_args(ctx, [*named, *args[stop:]])


def _is_name(argument: str, options: set[str]) -> bool:
    if not argument.startswith("-") or argument.partition("=")[0] in options:
        return False
    return argument != "-" and "\0" not in argument and os.path.lexists(argument)
