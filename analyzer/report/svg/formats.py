"""Numbers, dates and the texts of tooltips, as plotly's formats say them; those formats alone that charts here use."""

from __future__ import annotations

import html
import re
from collections.abc import Mapping
from datetime import datetime
from typing import Any

from analyzer.report.svg.refusal import refused

_MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")
_DATE_PART = re.compile(r"%(-d|.)")
_PLACE = re.compile(r"%\{(\w+)(?:\[(\d+)\])?(?:([:|])([^}]*))?\}")
_EXTRA = re.compile(r"<extra>(.*?)</extra>")
_PREFIXES = ((1e12, "T"), (1e9, "G"), (1e6, "M"), (1e3, "k"))


def number(value: float, form: str) -> str:
    """The number by a format of d3: empty, `,`, `,d`, `,~r`, `~s`, or a share as `.0%` with any digits.

    Raises:
        AnalyzerError: the format is another.
    """
    if re.fullmatch(r"\.\d%", form):
        return f"{value:{form}}"
    if form == "~s":
        size, sign = next(((size, sign) for size, sign in _PREFIXES if abs(value) >= size), (1.0, ""))
        return f"{value / size:.3g}{sign}"
    if form == ",d":
        return f"{round(value):,}"
    if form in {"", ",", ",~r"}:
        return f"{round(value, 6):,.6f}".rstrip("0").rstrip(".")
    raise refused(f"the number format {form!r}")


def moment(at: datetime, form: str) -> str:
    """The moment by a format of strftime, month names in English.

    Raises:
        AnalyzerError: it has a part that is not known here.
    """

    def part(match: re.Match[str]) -> str:
        parts = {
            "Y": f"{at.year}",
            "m": f"{at.month:02}",
            "d": f"{at.day:02}",
            "-d": f"{at.day}",
            "b": _MONTHS[at.month - 1],
            "H": f"{at.hour:02}",
            "M": f"{at.minute:02}",
            "S": f"{at.second:02}",
        }
        if match[1] not in parts:
            raise refused(f"the date format {form!r}")
        return parts[match[1]]

    return _DATE_PART.sub(part, form)


def plain(text: str) -> str:
    """A text of plotly's pseudo-HTML as it reads: entities resolved, an outer `<b>` dropped, `<br>` a new line.

    Raises:
        AnalyzerError: it has another element.
    """
    bare = text.replace("<br>", "\n").removeprefix("<b>").removesuffix("</b>")
    if re.search(r"<[a-z/]", bare):
        raise refused(f"the element in {text!r}")
    return html.unescape(bare)


def tooltip(template: str, point: Mapping[str, Any]) -> str:
    """What a hover template says of a point, which has `x`, `y` and perhaps `customdata`."""

    def place(match: re.Match[str]) -> str:
        name, index, sign, form = match.groups()
        value = point[name] if index is None else point[name][int(index)]
        if sign == "|":
            return moment(datetime.fromisoformat(value), form)
        return str(value) if isinstance(value, str) else number(value, form or "")

    # What is put in may be a text of a log, escaped by `label`: the templates are split first.
    said = _EXTRA.sub(lambda match: f"<br>{match[1]}" if match[1] else "", template)
    return plain(_PLACE.sub(place, said))
