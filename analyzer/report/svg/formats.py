"""Numbers and moments as an axis writes them: the formats of d3 and strftime that charts here use."""

from __future__ import annotations

import re
from datetime import datetime

_MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")
_PREFIXES = ((1e12, "T"), (1e9, "G"), (1e6, "M"), (1e3, "k"))


def number(value: float, form: str) -> str:
    """The number by a format of d3: empty, `,d`, `,~r`, `~s`, or a share as `.0%` with any digits."""
    if form.endswith("%"):
        return f"{value:{form}}"
    if form == "~s":
        size, sign = next(((size, sign) for size, sign in _PREFIXES if abs(value) >= size), (1.0, ""))
        return f"{value / size:.3g}{sign}"
    if form == ",d":
        return f"{round(value):,}"
    assert form in {"", ",~r"}, form
    return f"{round(value, 6):,.6f}".rstrip("0").rstrip(".")


def moment(at: datetime, form: str) -> str:
    """The moment by a format of strftime, month names in English."""
    day = form.replace("%-d", str(at.day)).replace("%b", _MONTHS[at.month - 1]).replace("%Y", str(at.year))
    return re.sub(r"%([HM])", lambda part: f"{at.hour if part[1] == 'H' else at.minute:02}", day).replace(
        "%S", f"{at.second:02}"
    )
