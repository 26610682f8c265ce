"""Durations in other languages: a time or an honest nothing, never a wrong one."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from analyzer.classifier import classify
from analyzer.classifier.reading.reset_times import NOTHING, from_text
from tests import each_row

READ = {
    "请求过于频繁，请在 30 秒后重试": 30.0,
    "请 5 分钟后再试": 300.0,
    "您的限额将在 3小时20分钟后恢复": 12_000.0,
    "請於 2 個小時後重試": 7_200.0,
    "60秒後に再試行してください": 60.0,
    "5分後にもう一度お試しください": 300.0,
    "制限は3時間後にリセットされます": 10_800.0,
    "30초 후에 다시 시도하세요": 30.0,
    "Bitte in 30 Sekunden erneut versuchen": 30.0,
    "Das Limit wird in 2 Stunden und 10 Minuten zurückgesetzt": 7_800.0,
    "Inténtelo de nuevo en 5 minutos.": 300.0,
    "El límite se restablece en 1,5 horas": 5_400.0,
    "Veuillez réessayer dans 2 heures": 7_200.0,
    "Tente novamente em 45 segundos": 45.0,
    "Повторите через 30 секунд": 30.0,
    "配额将在 2 天后重置": 172_800.0,
}
NOT_READ = (
    "每 5 分钟最多 10 个请求",
    "最近 24 小时内",
    "30秒以内に10回まで",
    "in den letzten 30 Sekunden",
    "1,500秒后重试",
    "10分钟后无法恢复",
    "5分後に再試行しないでください",
    "Réessayez dans 2 heures et demie",
    "Réessayez dans 2 heures 30",
    "Inténtelo en 1.500 segundos",
    "Inténtelo de nuevo en 5-10 minutos",
    "Bitte versuchen Sie es später erneut",
    "配额将于 2026年11月25日 10:30 重置",
)
UNITS = {"秒": 1, "分钟": 60, "小时": 3_600, "天": 86_400}
WESTERN = {"Sekunden": 1, "Minuten": 60, "Stunden": 3_600, "Tagen": 86_400}


@each_row("text, seconds", READ.items())
def test_a_duration_is_read(text: str, seconds: float) -> None:
    """Each language's words for coming back, with a number and its units."""
    assert classify({"status": 429, "message": text}).retry_after_seconds == seconds


@each_row("text", NOT_READ)
def test_what_is_not_surely_a_wait_is_none(text: str) -> None:
    """Windows, negations, halves, ranges, thousands and dates without a zone give nothing."""
    assert from_text(text.encode()) == NOTHING


@settings(max_examples=60)
@given(st.integers(1, 35), st.sampled_from(sorted(UNITS)), st.sampled_from(sorted(WESTERN)))
def test_any_number_of_any_unit_is_itself(number: int, unit: str, western: str) -> None:
    """What is written is what is read."""
    assert from_text(f"请在{number}{unit}后重试".encode()).seconds == number * UNITS[unit]
    assert from_text(f"Bitte in {number} {western} erneut versuchen".encode()).seconds == number * WESTERN[western]


@settings(max_examples=60)
@given(st.text(alphabet="0123456789 .,:-秒分钟小时天后重试再無无不et demie", max_size=24))
def test_nothing_is_longer_than_what_stands_there(noise: str) -> None:
    """Whatever surrounds a number, a wait that is read is bounded and not negative."""
    found = from_text(f"请在{noise}秒后重试".encode()).seconds
    assert found is None or 0 <= found <= 35 * 86_400
