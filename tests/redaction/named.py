"""Made-up secrets that a name beside them tells, as configurations, code and tables write them."""

from __future__ import annotations

import functools
import random
import string
from collections.abc import Callable
from typing import NamedTuple

from analyzer.redaction.keys import PHRASES, VENDORS

_HEX = "0123456789abcdef"
_SMALL = string.ascii_lowercase + string.digits
_ANY = string.ascii_letters + string.digits
ALONE = ("small letters, 30", "small letters, 32", "small letters, 40", "small letters, 64")
"""Shapes of values that are told without a name."""


def _of(letters: str, length: int) -> Callable[[random.Random], str]:
    return lambda random_of: "".join(random_of.choices(letters, k=length))


def _uuid(random_of: random.Random) -> str:
    return "-".join(_of(_HEX, length)(random_of) for length in (8, 4, 4, 4, 12))


VALUES: dict[str, Callable[[random.Random], str]] = {
    "hexadecimal, 32": _of(_HEX, 32),
    "hexadecimal, 40": _of(_HEX, 40),
    "hexadecimal, 64": _of(_HEX, 64),
    "UUID": _uuid,
    "small letters, 16": _of(_SMALL, 16),
    "small letters, 20": _of(_SMALL, 20),
    "small letters, 24": _of(_SMALL, 24),
    "small letters, 30": _of(_SMALL, 30),
    "small letters, 32": _of(_SMALL, 32),
    "small letters, 40": _of(_SMALL, 40),
    "small letters, 64": _of(_SMALL, 64),
    "letters, 22": _of(_ANY, 22),
    "letters, 40": _of(_ANY, 40),
    "with signs, 32": _of(_SMALL + "=_-", 32),
    "digits, 16": _of(string.digits, 16),
}
"""What values look like that nothing but their name tells from an id."""

_WORDS = ("token", "api key", "secret", "client secret", "access token", "secret key", "key")
_STYLES: tuple[Callable[[str], str], ...] = (
    lambda name: name.replace(" ", "_"),
    lambda name: name.replace(" ", "_").upper(),
    lambda name: name.replace(" ", "-"),
    lambda name: name[0] + name.title().replace(" ", "")[1:],
    lambda name: name.title().replace(" ", ""),
    lambda name: name.replace(" ", "."),
)
_ASSIGNED = (
    "NAME=VALUE",
    'NAME="VALUE"',
    "NAME = VALUE",
    "NAME = 'VALUE'",
    "NAME: VALUE",
    'NAME: "VALUE"',
    "NAME:VALUE",
    'NAME := "VALUE"',
    "NAME := `VALUE`",
    "NAME ::= 'VALUE'",
    'NAME ?= "VALUE"',
    '$NAME .= "VALUE";',
    '"NAME" => "VALUE",',
    '{"NAME": "VALUE"}',
    "{'NAME': 'VALUE', 'region': 'eu'}",
    '{\n  "app.ini": "NAME=VALUE\\nDEBUG=true"\n}',
    "<NAME>\n  VALUE\n</NAME>",
    "<NAME>VALUE</NAME>",
    '<setting name="NAME" value="VALUE"/>',
    'var NAME string = "VALUE"',
    'String NAME = "VALUE";',
    'const NAME: &str = "VALUE";',
    'NAME: str = "VALUE"',
    'System.setProperty("NAME", "VALUE")',
    "export NAME=VALUE && ./run",
    "set NAME VALUE",
    "- name: NAME\n  value: VALUE",
    "https://api.test/v1/items?NAME=VALUE&page=2",
    "| NAME | VALUE |",
    "id,NAME\n1,VALUE\n",
    "Namespace   NAME\nprod        VALUE\n",
    "run --NAME VALUE --verbose",
    'if hmac.compare_digest(NAME, "VALUE"):',
)


class Named(NamedTuple):
    """A text that holds a secret under a name."""

    text: str
    secret: str
    shape: str


@functools.cache
def named() -> list[Named]:
    """Each vendor's names and each phrase of the tables, in all ways to assign, by turns in each style and shape."""
    random_of = random.Random(26)
    names = [f"{vendor} {word}" for vendor in VENDORS for word in _WORDS]
    names += [phrase for guard in ("password", "plain") for phrase in PHRASES[guard] if phrase.isascii()]
    found = []
    for number, form in enumerate(_ASSIGNED):
        for place in range(number % 7, len(names), 7):
            style = _STYLES[(place + number) % len(_STYLES)]
            shape = [*VALUES][(place // 7 + number) % len(VALUES)]
            secret = VALUES[shape](random_of)
            found.append(Named(form.replace("NAME", style(names[place])).replace("VALUE", secret), secret, shape))
    random_of.shuffle(found)  # so that every third of them is like all of them
    return found
