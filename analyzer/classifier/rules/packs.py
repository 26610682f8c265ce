"""Packs of rules: how a rules file takes a pack, where earlier packs are kept, and how its own version goes up.

Invariant: one line of the rules file names its pack, so that a pack is taken, and given back, by one write; a pack
that was taken is never deleted or changed.
"""

from __future__ import annotations

import glob
import os
import re
from collections.abc import Mapping

from analyzer.classifier.rules.loading import Pack, pack_in, pack_of, read_rules
from analyzer.config_files import toml
from analyzer.errors import RulesError


def kept_at(path: str, version: str) -> str:
    """Return the path at which the pack of this version is kept, beside the rules file at `path`."""
    return os.path.join(os.path.dirname(path), f"{_stem(path)}.pack-{version}.toml")


def present(text: bytes, path: str) -> Pack | None:
    """Return the pack that the text of the rules file at `path` names; None if it names none.

    Raises:
        RulesError: the file or its pack cannot be read or is not sound.
    """
    below = pack_of(text, path)
    return None if below is None else pack_in(read_rules(below), below)


def before(path: str, pack: Pack) -> Pack | None:
    """Return the kept pack of the rules file at `path` with the
    highest version below that of `pack`.
    """
    earlier = []
    pattern = f"{glob.escape(_stem(path))}.pack-*.toml"
    for file in glob.glob(os.path.join(glob.escape(os.path.dirname(path)), pattern)):
        kept = pack_in(read_rules(file), file)
        if kept.order < pack.order and os.path.basename(file) == os.path.basename(kept_at(path, kept.version)):
            earlier.append(kept)
    return max(earlier, key=lambda kept: kept.order, default=None)


def naming(text: str, pack: str) -> str:
    """Return the text of a rules file with this pack in it, empty for none; the rest of it stays as it is.

    Raises:
        RulesError: the layout is unusual, and the line must be written by hand.
    """
    return _with(text, {"pack": os.path.basename(pack)})


def counted_up(text: str, day: str, source: str) -> str:
    """Return the text of a rules file with the next version and this date; a first version names its source.

    Raises:
        RulesError: as `naming`.
    """
    data = toml(text.encode())
    version = str(data.get("version", "0"))
    if not re.fullmatch(r"(?:[0-9]+\.)*[0-9]+", version):
        return text  # loading it raises an error that says so
    head, _, last = version.rpartition(".")
    values = {"version": f"{head}.{int(last) + 1}".lstrip("."), "date": day}
    return _with(text, values if "sources" in data else {**values, "sources": [source]})


def _stem(path: str) -> str:
    return os.path.splitext(os.path.basename(path))[0]


def _with(text: str, values: Mapping[str, object]) -> str:
    """Replace values at the top of a TOML text, each on a line of its own."""
    first = re.search(r"(?m)^[ \t]*\[", text)
    head, rest = (text, "") if first is None else (text[: first.start()], text[first.start() :])
    for key in values:
        head = re.sub(rf"(?m)^[ \t]*{key}[ \t]*=.*\n?", "", head, count=1)
    new = [f"{key} = {_value(value)}" for key, value in values.items()]
    done = "\n".join([*new, ""]) + ("" if head or not rest else "\n") + head + rest
    try:
        same = toml(done.encode()) == {**toml(text.encode()), **values}
    except ValueError:
        same = False
    if not same:
        raise RulesError(
            f"{' and '.join(values)} cannot be written into the rules file: it is laid out in an unusual way",
            f"write at its top by hand: {'; '.join(new)}",
        )
    return done


def _value(value: object) -> str:
    import json

    # JSON and TOML write texts alike, except one control character that JSON does not escape.
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
