"""Durations until one may come back, in the languages other than English that providers answer in.

Invariant: a duration that is read is the whole of what the text says; what goes on behind it in a way that is not known
here ("et demie", "しないで") makes it nothing. Dates and clocks are left alone: such texts hardly ever name their zone.
"""

from __future__ import annotations

from analyzer.redaction.automata import Late

_EAST_UNIT = r"(?:秒钟?|秒鐘|秒間|分钟|分鐘|分間|分|个?小时|個?小時|時間|天|日間?|초|분|시간|일)"
_WEST_UNIT = (
    r"(?:sekunden?|minuten?|stunden?|tage?n?|segundos?|minutos?|horas?|d[ií]as?|secondes?|minutes?|heures?|jours?"
    r"|секунд[а-я]*|минут[а-я]*|час[а-я]*|дн[а-я]+|день)"
)
_WEST = rf"\d{{1,6}}(?:[.,]\d{{1,2}})?\s*{_WEST_UNIT}(?:(?:,| und| et| y| e| и)?\s*\d{{1,6}}\s*{_WEST_UNIT})*"
_END = r"(?:\s*[^\s0-9a-zа-я]|\s+[a-zа-я]|\s*$)"
EAST = (
    rf"(?i)(?:^|[^0-9.,:，])((?:\d{{1,6}}(?:\.\d+)?\s*{_EAST_UNIT}\s*)+)(?:之?后|以后|之?後|以後|후)"
    r"[^\n。.,，、无無不0-9]{0,10}(?:重试|再试|重置|恢复|刷新|重試|再試|恢復|お試し|リセット|回復|다시|재시도|초기화)"
)
"""`请在 30 秒后重试`, `5分後にもう一度お試しください`, `30초 후에 다시 시도하세요`."""
WEST = (
    rf"(?i)(?:\b(?:in|nach) ({_WEST}) (?:erneut|wieder|zurückgesetzt)"
    r"|(?:\b(?:erneut|wieder verfügbar|zurückgesetzt|inténtel[oa]|intente(?:lo)?|intentarlo|reintente|restablece(?:rá)?"
    r"|réessaye[rz]|réinitialisée?s?|tente novamente|tentar novamente)|повторите|попробуйте|сброс)[^\n.;0-9]{0,24}"
    rf" (?:in|nach|en|dentro de|dans|em|daqui a|через) ({_WEST}){_END})"
)
"""`Bitte in 30 Sekunden erneut versuchen`, `Inténtelo de nuevo en 5 minutos`, `Réessayez dans 2 heures`."""

EAST_HINT = r"后|後|후"
WEST_HINT = (
    r"(?i)\b(?:erneut|wieder|zurückgesetzt|intént|intent|reintente|restablece|réessaye|réinitialis|tente |tentar )"
    r"|повторите|попробуйте|сброс"
)
"""Without these words neither is found. They stand among the patterns of all rules, where the long ones cost a quarter
of the speed."""

_PARTS = Late(r"(?ai)(\d+(?:[.,]\d+)?)\s*([^\d\s,]+)")
_UNTRUSTED = Late(
    r"(?i)[\s\w]{0,14}(?:しない|ません|ないで|지 ?마|할 수 없)|\s*(?:et demi|y medi|e mei|und eine? halb|с половин)"
)
"""What follows a duration and makes another one of it, or says that one must not come back."""
_DAYS = ("天", "日", "일", "tag", "día", "dia", "jour", "дн", "день")
_HOURS = ("时", "時", "시", "stunde", "hora", "heure", "час")
_MINUTES = ("分", "분", "min", "мин")


def seconds_abroad(said: str, behind: str) -> float | None:
    """The seconds of a duration as `EAST` or `WEST` finds it; None where the words behind it make it another one."""
    if _UNTRUSTED.match(behind) is not None:
        return None
    return sum(float(number.replace(",", ".")) * _factor(unit.lower()) for number, unit in _PARTS.findall(said))


def _factor(unit: str) -> float:
    if any(word in unit for word in _HOURS):
        return 3_600.0
    if any(word in unit for word in _MINUTES):
        return 60.0
    return 86_400.0 if any(unit.startswith(word) for word in _DAYS) else 1.0
