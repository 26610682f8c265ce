"""Reads when to come back: durations and moments in headers and texts.

Invariant: nothing in this module looks at a clock. A duration stays a duration; a time of day becomes a moment only
relative to the event's own time.

Durations are read in English and in the other languages that providers answer in.
"""

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import UTC, datetime, timedelta, timezone, tzinfo
from typing import Any, NamedTuple

import re2

from analyzer.classifier.reading.facts import Facts
from analyzer.redaction.automata import FirstMatch, LazyPattern, kept_until_fork, spans_in

_EAST_UNIT = r"(?:秒钟?|秒鐘|秒間|分钟|分鐘|分間|分|个?小时|個?小時|時間|天|日間?|초|분|시간|일)"
_WEST_UNIT = (
    r"(?:sekunden?|minuten?|stunden?|tage?n?|segundos?|minutos?|horas?|d[ií]as?|secondes?|minutes?|heures?|jours?"
    r"|секунд[а-я]*|минут[а-я]*|час[а-я]*|дн[а-я]+|день)"
)
_WESTERN_WAIT = rf"\d{{1,6}}(?:[.,]\d{{1,2}})?\s*{_WEST_UNIT}(?:(?:,| und| et| y| e| и)?\s*\d{{1,6}}\s*{_WEST_UNIT})*"
_END = r"(?:\s*[^\s0-9a-zа-я]|\s+[a-zа-я]|\s*$)"
EAST = (
    rf"(?i)(?:^|[^0-9.,:，])((?:\d{{1,6}}(?:\.\d+)?\s*{_EAST_UNIT}\s*)+)(?:之?后|以后|之?後|以後|후)"
    r"[^\n。.,，、无無不0-9]{0,10}(?:重试|再试|重置|恢复|刷新|重試|再試|恢復|お試し|リセット|回復|다시|재시도|초기화)"
)
"""`请在 30 秒后重试`, `5分後にもう一度お試しください`, `30초 후에 다시 시도하세요`."""
WEST = (
    rf"(?i)(?:\b(?:in|nach) ({_WESTERN_WAIT}) (?:erneut|wieder|zurückgesetzt)"
    r"|(?:\b(?:erneut|wieder verfügbar|zurückgesetzt|inténtel[oa]|intente(?:lo)?|intentarlo|reintente|restablece(?:rá)?"
    r"|réessaye[rz]|réinitialisée?s?|tente novamente|tentar novamente)|повторите|попробуйте|сброс)[^\n.;0-9]{0,24}"
    rf" (?:in|nach|en|dentro de|dans|em|daqui a|через) ({_WESTERN_WAIT}){_END})"
)
"""`Bitte in 30 Sekunden erneut versuchen`, `Inténtelo de nuevo en 5 minutos`, `Réessayez dans 2 heures`."""

EAST_HINT = r"后|後|후"
WEST_HINT = (
    r"(?i)\b(?:erneut|wieder|zurückgesetzt|intént|intent|reintente|restablece|réessaye|réinitialis|tente |tentar )"
    r"|повторите|попробуйте|сброс"
)
"""Words that every match of `EAST` or `WEST` has. They are matched together with the patterns of all rules, where the
long patterns would cost a quarter of the speed."""

_FOREIGN_PARTS = LazyPattern(r"(?ai)(\d+(?:[.,]\d+)?)\s*([^\d\s,]+)")
_UNTRUSTED = LazyPattern(
    r"(?i)[\s\w]{0,14}(?:しない|ません|ないで|지 ?마|할 수 없)|\s*(?:et demi|y medi|e mei|und eine? halb|с половин)"
)
"""Text after a duration that makes it another duration, or says that one must not come back."""
_DAYS = ("天", "日", "일", "tag", "día", "dia", "jour", "дн", "день")
_HOURS = ("时", "時", "시", "stunde", "hora", "heure", "час")
_MINUTES = ("分", "분", "min", "мин")


def foreign_seconds(text: str, after: str) -> float | None:
    """Return the seconds of a duration that `EAST` or `WEST` matched; None if the text after it changes its meaning."""
    if _UNTRUSTED.match(after) is not None:
        return None
    parts = _FOREIGN_PARTS.findall(text)
    return sum(float(number.replace(",", ".")) * _foreign_factor(unit.lower()) for number, unit in parts)


def _foreign_factor(unit: str) -> float:
    if any(word in unit for word in _HOURS):
        return 3_600.0
    if any(word in unit for word in _MINUTES):
        return 60.0
    return 86_400.0 if any(unit.startswith(word) for word in _DAYS) else 1.0


FARTHEST = timedelta(days=35)
"""The longest wait for a limit. A later reset means something else, or is quoted."""
_MAX_SECONDS = FARTHEST.total_seconds()
_UNIT = r"(?:milliseconds?|millis|msecs?|ms|seconds?|secs?|s|minutes?|mins?|m|hours?|hrs?|hr|h|days?|d|秒|分钟|小时|天)"
_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_PATTERNS = {
    # "try again in 11.054s", "resets in 6hr 29min", "reset after 8h44m7s", "retryDelay: 34s"
    "duration": (
        r"(?i)(?:\b(?:try|retry|retrying|resets?|refresh\w*|available|wait|back|regain access)\b(?: again)?"
        r"(?: after| in| for)?|retryDelay|quotaResetDelay)[\s:=\"'~]+"
        rf"((?:\d+(?:\.\d+)?\s*{_UNIT}[\s,]*)+)(?:[^0-9A-Za-z]|$)"
    ),
    "millis": r"(?i)\bretry[_-]after[_-]ms[\s:=\"']+(\d+(?:\.\d+)?)",
    "seconds": r"(?i)\b(?:retry[_ -]after|resets_in_seconds|try again in)[\s:=\"']+(\d+(?:\.\d+)?)(?:[^\d.\w-]|\.?$)",
    # "limit reached|1790000000", "resets_at: 1790000000"
    "epoch": r"(?i)(?:limit reached\||resets?_at[\s:=\"']+|quotaResetTimeStamp[\s:=\"']+)(\d{10}(?:\d{3})?)(?:[^\d]|$)",
    # "reset at 2027-01-02 10:30:00 +0800", "quotaResetTimeStamp: 2027-01-02T10:30:00Z"
    "date": (
        r"(?i)(?:resets?\w*|\b(?:until|available|again|after|access))(?: again)?(?:[ _]at| on| after)?[\s:=\"']+"
        r"(\d{4}-\d\d-\d\d)(?:[T ]| at )(\d\d:\d\d(?::\d\d)?)(?:\.\d+)?\s*(Z|UTC|[+-]\d\d:?\d\d)?"
    ),
    # "resets 3pm (America/Bogota)", "resets Feb 7, 11am", "reset at 9:30 AM", "resets at midnight UTC"
    "clock": (
        rf"(?i)\bresets?(?:\s+at|\s+on)?\s+(?:({'|'.join(_MONTHS)})[a-z]*\.?\s+(\d{{1,2}})(?:st|nd|rd|th)?"
        r"(?:,|\s+at)?\s+(?:at\s+)?)?(?:(\d{1,2})(?::(\d\d))?\s*([ap])\.?m\b\.?|(\d{1,2}):(\d\d)|(midnight|noon))"
        r"(?:\s*\(([A-Za-z][A-Za-z0-9_+\-/]{1,40})\)|\s+(UTC|GMT)\b)?"
    ),
    "east": EAST,
    "west": WEST,
}
_DURATION, _MILLIS, _SECONDS, _EPOCH, _DATE, _CLOCK, _EAST, _WEST = range(8)
TIME_PATTERNS = (*tuple(_PATTERNS.values())[:_EAST], EAST_HINT, WEST_HINT)
"""Patterns of which one matches any text that names a time; all ignore case."""

# For short texts only, such as group 1 of a duration; `(?a)` because RE2 knows ASCII digits and blanks only.
_PARTS = LazyPattern(rf"(?ai)(\d+(?:\.\d+)?)[\t\n\f\r ]*({_UNIT})")
_FACTORS = {"s": 1.0, "m": 60.0, "h": 3_600.0, "d": 86_400.0, "秒": 1.0, "分": 60.0, "小": 3_600.0, "天": 86_400.0}


class TimeOfDay(NamedTuple):
    """A time of day in a zone, with or without a date."""

    month: int | None
    day: int | None
    hour: int
    minute: int
    zone: str
    """The name of the zone; empty for that of the event."""


class Reset(NamedTuple):
    """When to come back by the facts, before the event's own time is considered."""

    seconds: float | None = None
    moment: datetime | None = None
    clock: TimeOfDay | None = None


NOTHING = Reset()


class _Compiled(NamedTuple):
    check: Any
    regexes: tuple[Any, ...]


@kept_until_fork
def _compiled() -> _Compiled:
    check = re2.Set.SearchSet()
    for pattern in _PATTERNS.values():
        check.Add(pattern)
    check.Compile()
    return _Compiled(check._set.Match, tuple(re2.compile(pattern.encode()) for pattern in _PATTERNS.values()))


def read(levels: Sequence[Facts], texts: Callable[[Facts], Iterable[bytes]], *, limited: bool) -> Reset:
    """Return when to come back, as an error and its causes say.

    Headers count before `texts`, which yields the texts of a level. Successful answers have reset
    headers of rate limits too, so these count only after a refusal for a limit (`limited`).
    """
    for level in levels:
        if level.headers:
            reset = _from_headers(level.headers, limited)
            if reset != NOTHING:
                return reset
    for level in levels:
        for text in texts(level):
            reset = from_text(text)
            if reset is not NOTHING:
                return _in_provider_zone(reset, level)
    return NOTHING


_BEIJING = timezone(timedelta(hours=8))
_PROVIDER_ZONES = {
    **dict.fromkeys(("zai", "z.ai", "zhipu", "zhipuai", "bigmodel", "glm", "zai-coding-plan"), _BEIJING),
}
"""The zone of a provider that writes moments without a zone:
the limits of Z.ai and Zhipu name Beijing time (seen 2026).
"""
_CODES_OF_ZHIPU = ("1308", "1310")
"""Codes of the plan limits of Zhipu, which name a reset:
<https://docs.z.ai/api-reference/api-code>.
"""


def _in_provider_zone(reset: Reset, level: Facts) -> Reset:
    """Give a moment without a zone that of its provider; drop the moment if that is unknown."""
    if reset.moment is None or reset.moment.tzinfo is not None:
        return reset
    zone = _PROVIDER_ZONES.get((level.provider or "").lower())
    if zone is None and ((level.model or "").lower().startswith("glm-") or level.code in _CODES_OF_ZHIPU):
        zone = _BEIJING
    moment = None if zone is None else reset.moment.replace(tzinfo=zone).astimezone(UTC)
    return reset._replace(moment=moment)


def from_text(text: bytes) -> Reset:
    """Return the first duration, moment and time of day in a text.

    A moment without a zone stays naive.
    """
    compiled = _compiled()
    matches: dict[int, Any] = {}  # its groups are bytes or None, as those of `re`
    for number in compiled.check(text) or ():
        spans = spans_in(compiled.regexes[number], text)
        if spans is not None:
            matches[number] = FirstMatch(text, spans)
    if not matches:
        return NOTHING
    seconds, moment, clock = _seconds(matches), _moment(matches), None
    if _CLOCK in matches:
        clock = _clock(matches[_CLOCK])
    return NOTHING if seconds is None and moment is None and clock is None else Reset(seconds, moment, clock)


def resolve(clock: TimeOfDay, at: datetime) -> datetime | None:
    """Return the first moment after `at` with this time of day.

    None if the zone or the date does not exist.
    """
    aware = at if at.tzinfo is not None else at.replace(tzinfo=UTC)
    zone = _zone(clock.zone, aware)
    if zone is None:
        return None
    try:
        local = aware.astimezone(zone)
        target = local.replace(hour=clock.hour, minute=clock.minute, second=0, microsecond=0, fold=0)
        if clock.month is not None and clock.day is not None:
            target = target.replace(month=clock.month, day=clock.day)
            if target < local - timedelta(days=1):
                target = target.replace(year=target.year + 1)
        elif target <= local:
            target += timedelta(days=1)
        return target.astimezone(UTC)
    except (ValueError, OverflowError):
        return None


def credible(moment: datetime, at: datetime) -> datetime | None:
    """Return the moment of a reset; None if it is more than `FARTHEST` after that of the error."""
    return moment if moment - (at if at.tzinfo is not None else at.replace(tzinfo=UTC)) <= FARTHEST else None


def _seconds(matches: Mapping[int, Any]) -> float | None:
    if _DURATION in matches:
        return duration_seconds(matches[_DURATION][1].decode("utf-8", "replace"))
    if _MILLIS in matches:
        return _sane(float(matches[_MILLIS][1]) / 1000)
    if _SECONDS in matches:
        return _sane(float(matches[_SECONDS][1]))
    match = matches.get(_EAST) or matches.get(_WEST)
    return None if match is None else _foreign_duration(match)


def _foreign_duration(match: Any) -> float | None:
    number = 1 if match[1] is not None else 2
    after = match.string[match.end(number) :][:200].decode("utf-8", "replace")
    seconds = foreign_seconds(match[number].decode("utf-8", "replace"), after)
    return None if seconds is None else _sane(seconds)


def _moment(matches: Mapping[int, Any]) -> datetime | None:
    if _EPOCH in matches:
        return _epoch(float(matches[_EPOCH][1]))
    if _DATE not in matches:
        return None
    match = matches[_DATE]
    if match[3] is None and b"T" not in match[0][match.start(2) - match.start() - 1 :][:1]:
        try:
            return datetime.fromisoformat(f"{match[1].decode()} {match[2].decode()}")
        except ValueError:
            return None
    return _iso(f"{match[1].decode()}T{match[2].decode()}", match[3].decode() if match[3] is not None else "")


def _clock(match: Any) -> TimeOfDay | None:
    half, word, month, day = match[5], match[8], match[1], match[2]
    if word is not None:
        hour, minute = (0 if word.lower() == b"midnight" else 12), 0
    elif half is not None:
        hour, minute = int(match[3]), int(match[4] or 0)
        if not 1 <= hour <= 12:
            return None
        hour = hour % 12 + (12 if half.lower() == b"p" else 0)
    else:
        hour, minute = int(match[6]), int(match[7])
    number = None
    if month is not None:
        name = month.decode("ascii", "replace").lower()
        # RE2 folds more than ASCII: a long s is an s to it, and no month to us.
        if name not in _MONTHS:
            return None
        number = _MONTHS.index(name) + 1
    zone = "" if match[10] is None else "UTC"
    if match[9] is not None:
        zone = match[9].decode("ascii", "replace")
    return TimeOfDay(number, int(day) if day is not None else None, hour, minute, zone)


def _zone(name: str, at: datetime) -> tzinfo | None:
    if not name:
        return at.tzinfo
    if name.upper() in ("UTC", "GMT"):
        return UTC
    from zoneinfo import ZoneInfo  # only for texts with a zone

    try:
        return ZoneInfo(name)
    except Exception:  # noqa: BLE001  # the zone database is foreign: a bad key raises one of several things
        return None


def _from_headers(headers: Mapping[str, str], limited: bool) -> Reset:
    millis = _float(headers.get("retry-after-ms"))
    if millis is not None:
        return Reset(seconds=_sane(millis / 1000))
    after = headers.get("retry-after")
    if after is not None:
        reset = header_value(after)
        if reset != NOTHING:
            return reset
    if not limited:
        return NOTHING
    resets = [header_value(text) for name, text in headers.items() if "reset" in name]
    # Headers do not name the limit that was hit; the last one to reset is safe.
    return Reset(
        max((reset.seconds for reset in resets if reset.seconds is not None), default=None),
        max((reset.moment for reset in resets if reset.moment is not None), default=None),
    )


def header_value(text: str) -> Reset:
    """Read a header's value: seconds, an epoch in s or ms, `6m0s`, an ISO moment or an HTTP date."""
    text = text.strip()[:100]
    number = _float(text)
    if number is not None:
        # Nobody waits thirty years: larger numbers are moments.
        return Reset(moment=_epoch(number)) if number >= 1e9 else Reset(seconds=_sane(number))
    seconds = duration_seconds(text)
    if seconds is not None:
        return Reset(seconds=seconds)
    moment = _iso(text, "")
    return Reset(moment=moment if moment is not None else _http_date(text))


def duration_seconds(text: str) -> float | None:
    """Return the seconds of `6m0s`, `8h44m7s`, `20ms`, `6hr 29min`, `5 days`.

    None for any other text.
    """
    raw = text.strip().strip("~ ,")
    whole = _PARTS.fullmatch(raw)
    if whole is not None:
        return _sane(float(whole[1]) * _factor(whole[2].lower()))
    total, end = 0.0, 0
    for match in _PARTS.finditer(raw):
        if raw[end : match.start()].strip(" ,\t"):
            return None
        number, unit = match.groups()
        total += float(number) * _factor(unit.lower())
        end = match.end()
    if end == 0 or raw[end:].strip(" ,.\t"):
        return None
    return _sane(total)


def _factor(unit: str) -> float:
    return 0.001 if unit.startswith(("ms", "milli")) else _FACTORS[unit[0]]


def _float(text: str | None) -> float | None:
    if text is None:
        return None
    try:
        value = float(text)
    except ValueError:
        return None
    return value if math.isfinite(value) else None


def _sane(seconds: float) -> float | None:
    return round(seconds, 6) if 0 <= seconds <= _MAX_SECONDS else None


def _epoch(number: float) -> datetime | None:
    try:
        return datetime.fromtimestamp(number / 1000 if number >= 1e11 else number, UTC)
    except (ValueError, OverflowError, OSError):
        return None


def _iso(text: str, zone: str) -> datetime | None:
    """Read an ISO moment; one without a zone is read as UTC."""
    if len(text) < 10 or not text[:4].isdigit():
        return None
    try:
        moment = datetime.fromisoformat(text + ("+00:00" if zone.upper() in ("Z", "UTC") else zone))
        return (moment if moment.tzinfo is not None else moment.replace(tzinfo=UTC)).astimezone(UTC)
    except (ValueError, OverflowError):
        return None


def _http_date(text: str) -> datetime | None:
    from email.utils import parsedate_to_datetime  # 10 ms that only HTTP dates cost

    try:
        moment = parsedate_to_datetime(text)
        return (moment if moment.tzinfo is not None else moment.replace(tzinfo=UTC)).astimezone(UTC)
    except (ValueError, TypeError, IndexError, OverflowError):
        return None
