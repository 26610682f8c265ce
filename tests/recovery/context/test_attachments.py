"""Attachments of any provider's shape go first and oldest first, and a text says what they were."""

from __future__ import annotations

import copy
from typing import Any

import pytest

from analyzer.recovery import ContextRecovery, ContextSettings, TokenLimit
from analyzer.recovery.context.conversation import estimated_tokens, media_of, tokens_of
from analyzer.recovery.context.strategies import turns_of
from tests import each_row

DATA = "iVBORw0KGgo" * 2_000
PDF = {"type": "base64", "media_type": "application/pdf", "data": DATA}
PNG = {"type": "base64", "media_type": "image/png", "data": DATA}

BLOCKS: list[tuple[str, dict[str, Any], dict[str, Any], str]] = [
    ("anthropic image", {"type": "image", "source": PNG}, {"type": "text", "text": "look"}, "image (image/png)"),
    (
        "anthropic document",
        {"type": "document", "source": PDF, "title": "Q3 report"},
        {"type": "text", "text": "read"},
        'document "Q3 report" (application/pdf)',
    ),
    ("anthropic upload", {"type": "container_upload", "file_id": "f-1"}, {"type": "text", "text": "run"}, "file"),
    (
        "openai chat image",
        {"type": "image_url", "image_url": {"url": f"data:image/jpeg;base64,{DATA}"}},
        {"type": "text", "text": "look"},
        "image (image/jpeg)",
    ),
    (
        "openai chat file",
        {"type": "file", "file": {"filename": "plan.pdf", "file_data": f"data:application/pdf;base64,{DATA}"}},
        {"type": "text", "text": "read"},
        'document "plan.pdf" (application/pdf)',
    ),
    (
        "openai chat audio",
        {"type": "input_audio", "input_audio": {"data": DATA, "format": "wav"}},
        {"type": "text", "text": "hear"},
        "audio",
    ),
    (
        "responses image",
        {"type": "input_image", "image_url": "https://images.example.com/a.png"},
        {"type": "input_text", "text": "look"},
        "image",
    ),
    (
        "responses file",
        {"type": "input_file", "filename": "plan.pdf", "file_data": f"data:application/pdf;base64,{DATA}"},
        {"type": "input_text", "text": "read"},
        'document "plan.pdf" (application/pdf)',
    ),
    ("gemini inline", {"inline_data": {"mime_type": "image/png", "data": DATA}}, {"text": "look"}, "image (image/png)"),
    (
        "gemini camel case",
        {"inlineData": {"mimeType": "audio/ogg", "data": DATA}},
        {"text": "hear"},
        "audio (audio/ogg)",
    ),
    (
        "gemini file",
        {"fileData": {"mimeType": "application/pdf", "fileUri": "gs://bucket/a.pdf"}},
        {"text": "read"},
        "document (application/pdf)",
    ),
    (
        "bedrock document",
        {"document": {"format": "pdf", "name": "plan", "source": {"bytes": b"%PDF"}}},
        {"text": "read"},
        'document "plan"',
    ),
]
IDS = [row[0] for row in BLOCKS]


def conversation(media: dict[str, Any], text: dict[str, Any], turns: int = 6) -> list[dict[str, Any]]:
    """Turns of a question with an attachment and an answer, and a last question with one more."""
    gemini = "text" in text and "type" not in text and "document" not in media
    body, model = ("parts", "model") if gemini else ("content", "assistant")
    answer: Any = [{"text": "ok"}] if "type" not in text else "ok"
    messages: list[dict[str, Any]] = []
    for _ in range(turns):
        messages.append({"role": "user", body: [copy.deepcopy(text), copy.deepcopy(media)]})
        messages.append({"role": model, body: answer})
    return [*messages, {"role": "user", body: [copy.deepcopy(text), copy.deepcopy(media)]}]


def body(message: dict[str, Any]) -> Any:
    """Its blocks."""
    return message.get("parts", message.get("content"))


@each_row("media, text, said", [row[1:] for row in BLOCKS])
def test_old_attachments_go_before_any_turn(media: dict[str, Any], text: dict[str, Any], said: str) -> None:
    """About half of the tokens goes: the oldest attachments, each for a text of its own shape; all turns stay."""
    messages = conversation(media, text)
    before = copy.deepcopy(messages)
    change = ContextRecovery().compress(messages)
    assert change is not None
    assert (change.strategy, change.removed_messages, change.truncated_messages) == ("drop_attachments", 0, 4)
    assert len(messages) == len(before)
    gone = {**text, "text": f"[Removed due to context limit: {said}]"}
    assert [body(messages[index])[1] for index in (0, 2, 4, 6)] == [gone] * 4
    assert [message for index, message in enumerate(messages) if index not in (0, 2, 4, 6)] == [
        message for index, message in enumerate(before) if index not in (0, 2, 4, 6)
    ]
    assert change.post_tokens / change.pre_tokens < 0.5


@each_row("media, text, said", [row[1:] for row in BLOCKS])
def test_the_newest_question_keeps_what_it_brought_unless_nothing_else_helps(
    media: dict[str, Any], text: dict[str, Any], said: str
) -> None:
    """Behind plain turns these go; alone, its attachment does."""
    messages = conversation(media, text, turns=0)
    newest = messages[-1]
    messages[:0] = [{"role": role, "content": "x" * 8_000} for role in ("user", "assistant") * 3]
    change = ContextRecovery().compress(messages)
    assert change is not None
    assert change.strategy == "drop_oldest_turns"
    assert messages[-1] == newest
    messages = [newest]
    change = ContextRecovery().compress(messages)
    assert change is not None
    assert (change.strategy, change.truncated_messages) == ("drop_attachments", 1)
    assert body(messages[0])[1]["text"] == f"[Removed due to context limit: {said}]"
    assert ContextRecovery().compress(messages) is None


def screenshots(steps: int) -> list[dict[str, Any]]:
    """One question, and steps whose tool answers with a picture."""
    messages: list[dict[str, Any]] = [{"role": "user", "content": "click through it"}]
    for number in range(steps):
        call = {"type": "tool_use", "id": f"c{number}", "name": "screen", "input": {}}
        messages.append({"role": "assistant", "content": [call]})
        seen = [{"type": "image", "source": PNG, "cache_control": {"type": "ephemeral"}}]
        messages.append(
            {"role": "user", "content": [{"type": "tool_result", "tool_use_id": f"c{number}", "content": seen}]}
        )
    return messages


def test_pictures_in_the_results_of_tools_are_attachments() -> None:
    """The oldest go, the newest stays in sight, every call keeps its result, and marks of the cache stay."""
    messages = screenshots(10)
    change = ContextRecovery().compress(messages)
    assert change is not None
    assert (change.strategy, change.removed_messages, len(messages)) == ("drop_attachments", 0, 21)
    shown = [message["content"][0]["content"][0]["type"] for message in messages[2::2]]
    assert shown == ["text"] * 6 + ["image"] * 4 or shown == ["text"] * 5 + ["image"] * 5
    assert messages[2]["content"][0]["content"][0]["cache_control"] == {"type": "ephemeral"}


def test_items_of_responses_and_parts_of_gemini_keep_calls_and_results_together() -> None:
    """A reasoning goes with its call, a call with its output, a `functionResponse` with the step before it."""
    items: list[dict[str, Any]] = [{"role": "user", "content": "go"}]
    parts: list[dict[str, Any]] = [{"role": "user", "parts": [{"text": "go"}]}]
    for number in range(8):
        items += [
            {"type": "reasoning", "id": f"r{number}", "summary": []},
            {"type": "function_call", "call_id": f"c{number}", "name": "read", "arguments": "{}"},
            {"type": "function_call_output", "call_id": f"c{number}", "output": "x" * 4_000},
        ]
        parts += [
            {"role": "model", "parts": [{"functionCall": {"name": "read", "args": {}}}]},
            {"role": "user", "parts": [{"functionResponse": {"name": "read", "response": {"output": "x" * 4_000}}}]},
        ]
    assert [len(turn.messages) for turn in turns_of(items)] == [25]
    assert [len(turn.messages) for turn in turns_of(parts)] == [17]
    for messages, size in ((items, 3), (parts, 2)):
        change = ContextRecovery().compress(messages)
        assert change is not None
        assert 0.35 < change.post_tokens / change.pre_tokens < 0.6
        assert change.removed_messages % size == 0
    assert [item.get("type") for item in items[1:4]] == ["reasoning", "function_call", "function_call_output"]
    assert "functionCall" in parts[1]["parts"][0]


def test_pictures_in_outputs_of_responses_go_too() -> None:
    """An output may hold blocks of its own."""
    items: list[dict[str, Any]] = [{"role": "user", "content": "go"}]
    for number in range(6):
        items.append({"type": "function_call", "call_id": f"c{number}", "name": "screen", "arguments": "{}"})
        shown = [{"type": "input_image", "image_url": f"data:image/png;base64,{DATA}"}]
        items.append({"type": "function_call_output", "call_id": f"c{number}", "output": shown})
    change = ContextRecovery().compress(items)
    assert change is not None
    assert change.strategy == "drop_attachments"
    said = "[Removed due to context limit: image (image/png)]"
    assert items[2]["output"] == [{"type": "input_text", "text": said}]


def test_instructions_keep_their_attachments() -> None:
    """What a developer put there is needed."""
    messages = conversation({"type": "image_url", "image_url": {"url": "https://x.example/a.png"}}, BLOCKS[0][2])
    messages.insert(0, {"role": "developer", "content": [{"type": "file", "file": {"file_id": "f-1"}}]})
    first = copy.deepcopy(messages[0])
    assert ContextRecovery().compress(messages) is not None
    assert messages[0] == first


@pytest.mark.parametrize(
    ("block", "tokens"),
    [
        ({"type": "image", "source": PNG}, 1_600),
        ({"type": "image_url", "image_url": {"url": "https://x.example/a.png", "detail": "low"}}, 85),
        ({"type": "input_image", "image_url": "https://x.example/a.png", "detail": "low"}, 85),
        ({"type": "document", "source": PDF}, 1_600),
        ({"inline_data": {"mime_type": "image/png", "data": DATA}}, 1_600),
        ({"type": "text", "text": "x" * 400}, 103),
        ({"type": "tool_use", "id": "1", "name": "image", "input": {"type": "x"}}, 10),
    ],
)
def test_an_attachment_is_estimated_by_what_it_is(block: dict[str, Any], tokens: int) -> None:
    """A picture or a document takes the same whatever its bytes, an image of low detail less; the rest its text."""
    assert estimated_tokens({"content": [block]}) == pytest.approx(tokens, abs=4)


def test_a_document_of_text_weighs_its_text() -> None:
    """It is an attachment all the same."""
    block = {"type": "document", "source": {"type": "text", "media_type": "text/plain", "data": "x" * 400_000}}
    assert estimated_tokens({"content": [block]}) == pytest.approx(100_000, rel=0.01)
    assert str(media_of(block)) == "document (text/plain)"


def test_context_recovery_drops_attachments_before_turns() -> None:
    """After long outputs were cut, down to the target; those of the newest question last of all."""
    messages = conversation({"type": "image", "source": PNG}, {"type": "text", "text": "look"}, turns=20)
    total = sum(map(tokens_of, messages))
    fitted = ContextRecovery().fit(messages, TokenLimit(total, total - 1_000))
    assert fitted.change is not None
    assert (fitted.change.strategy, fitted.change.removed_messages) == ("drop_attachments", 0)
    assert fitted.change.post_tokens <= 0.8 * (total - 1_000)
    assert fitted.messages[-1] == messages[-1]
    alone = ContextRecovery().fit(messages[-1:], TokenLimit(1_600, 1_000))
    assert alone.change is not None
    assert alone.change.strategy == "drop_attachments"
    without = ContextRecovery(ContextSettings(strategies=("prune",))).fit(messages, TokenLimit(total, total - 1_000))
    assert without.change is not None
    assert without.change.strategy == "prune"


def test_blocks_without_end_are_left_alone() -> None:
    """A thousand results within each other raise nothing."""
    block: dict[str, Any] = {"type": "image", "source": PNG}
    for _ in range(1_000):
        block = {"type": "tool_result", "tool_use_id": "c1", "content": [block]}
    assert ContextRecovery().compress([{"role": "user", "content": [block]}]) is None
