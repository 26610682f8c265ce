"""Exports of tracing platforms: runs as JSON, which are read as spans.

They are Langfuse's observations, LangSmith's runs, MLflow's traces, Weave's calls and the traces of
the OpenAI Agents SDK: as lines, arrays, pages of an API (`data`), and runs inside runs. A run
covers a call with all tries of its SDK: retries do not show, and exports come in any order, so that
there are no chains, and `retry_visibility` is `terminal`. A failed call of a model is an
`error.classified`, a failed call of a tool a `tool.failed`; runs around them, such as agents and
chains, fail with them and are not counted. Tokens are counted for each call. The caller is what was
traced (its project, workflow or name), else the platform. CSV and Parquet are not read: export JSON
or JSONL.

A platform is one row with the paths of its fields. Sources: langfuse 5.0.4
(`api/commons/types/observation_v2.py`) and its page of the fields of exports to blob storage,
langsmith 0.15.1 (`schemas.py`), mlflow-skinny 3.17.2 (`entities/span.py`, `tracing/constant.py`),
weave 0.54.0 (`vendor/weave_server_sdk/types/call_read_response.py`) and openai-agents 0.24.0
(`tracing/spans.py`, `tracing/span_data.py`), November 2026.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from typing import Any, ClassVar

from analyzer.agent_stream import mapping, text
from analyzer.events import Event
from analyzer.events.codec import parsed
from analyzer.events.model import present
from analyzer.frozen import frozen
from analyzer.importers.records import identity_of, kept, moment_of
from analyzer.importers.shapes.rows import listed
from analyzer.importers.telemetry.model_calls import nanoseconds, whole
from analyzer.importers.telemetry.otlp import SpanReader

Record = Mapping[str, Any]

_CLASS = re.compile(r"^([A-Za-z_][\w.]{0,100}(?:Error|Exception|Timeout))[(:]")
_TRACEBACK = "Traceback (most recent call last)"
_DEEPEST = 40
_WRAPPINGS = ("data", "observations", "runs", "traces", "spans", "calls", "child_runs")
"""Keys under which a record holds others: pages of an API, traces, and runs inside runs."""
_USAGE = "gen_ai.usage."
_PARTS = {"prompt": ("read", "written"), "reply": ("reasoned",)}
_ATTRIBUTES = {
    "session": "session.id",
    "service": "service.name",
    "provider": "gen_ai.provider.name",
    "model": "gen_ai.request.model",
    "tool": "gen_ai.tool.name",
    "prompt": f"{_USAGE}input_tokens",
    "reply": f"{_USAGE}output_tokens",
    "read": f"{_USAGE}cache_read.input_tokens",
    "written": f"{_USAGE}cache_write.input_tokens",
    "reasoned": f"{_USAGE}reasoning.output_tokens",
    "cost": f"{_USAGE}cost",
}
"""Attributes of spans by the names of `Platform.has`."""


@frozen
class Platform:
    """The kinds of runs that are calls, and the places of their fields."""

    models: frozenset[str]
    """Kinds that are calls of a model."""
    tools: str
    """The kind that is a call of a tool."""
    failing: tuple[str, ...]
    """The states of a failed run; empty: any state."""
    has: Mapping[str, str]
    """Paths of keys with slashes between them; of several the first with a value counts.

    Beside `_ATTRIBUTES` they are `kind`, `trace`, `run`, its `parent`, `began`, `ended`, the `state` of a failure
    and its `message`.
    """
    apart: bool = False
    """True if the tokens of caches and of reasoning are no part of the prompt's and reply's."""


def _has(table: str) -> dict[str, str]:
    """Parse a table of names and their paths, which have commas between them."""
    return {name: paths.replace(",", " ") for name, _, paths in (pair.partition("=") for pair in table.split())}


@cache
def _ways(paths: str) -> tuple[tuple[str, ...], ...]:
    return tuple(tuple(path.split("/")) for path in paths.split())


def _at(record: object, way: tuple[str, ...]) -> Any:
    """Return the value at a path; the key `*` is the first key, whatever its name.

    Texts on the way that are JSON are parsed.
    """
    for key in way:
        fields = mapping(parsed(record) if isinstance(record, str) else record)
        record = next(iter(fields.values()), None) if key == "*" else fields.get(key)
    return parsed(record) if isinstance(record, str) and record[:1] == '"' else record


def _moment(value: object) -> Any:
    """Parse a moment that is a text, or nanoseconds since 1970."""
    return nanoseconds(value) if isinstance(value, int) and value > 1e17 else moment_of(value)


class PlatformReader(SpanReader):
    """Reads runs in any order."""

    row: ClassVar[Platform]

    def _events_of(self, record: Record) -> Iterable[Event]:
        return [event for run, around in self._runs(record, {}, 0) for event in self._run(run, around)]

    def _runs(self, record: Record, around: Record, depth: int) -> Iterator[tuple[Record, Record]]:
        """Yield the runs in a record, each with the record around it."""
        if text(self._has(record, "kind")):
            yield record, around
        holders = (record, mapping(record.get("data"))) if depth < _DEEPEST else ()
        for holder in holders:
            for key in _WRAPPINGS:
                for inner in listed(holder.get(key)):
                    yield from self._runs(inner, record, depth + 1)

    def _has(self, record: Record, name: str) -> Any:
        for way in _ways(self.row.has.get(name, "")):
            value = _at(record, way)
            if value is not None and value != "":
                return value
        return None

    def _run(self, run: Record, around: Record) -> list[Event]:
        row, kind = self.row, self._has(run, "kind")
        if kind not in row.models and kind != row.tools:
            return []
        values = {name: self._has(run, name) for name in _ATTRIBUTES}
        for name in ("session", "service"):
            values[name] = values[name] or self._has(around, name)
        if row.apart:
            for name, parts in _PARTS.items():
                values[name] = sum(max(whole(values[part]) or 0, 0) for part in (name, *parts))
        attributes = present({_ATTRIBUTES[name]: value for name, value in values.items()})
        attributes["gen_ai.operation.name"] = "chat" if kind in row.models else "execute_tool"
        trace, run_id = text(self._has(run, "trace")), text(self._has(run, "run"))
        self.of_resource({"session.id": trace, "service.name": self.agent}, attributes)
        began, ended = _moment(self._has(run, "began")), _moment(self._has(run, "ended"))
        self.clock(began or ended)
        self.count_session()
        self.clock(ended or began)
        state = self._has(run, "state")
        failed = state in row.failing if row.failing else bool(state)
        attributes |= self._failed(run) if failed else {}
        unique = trace, run_id or identity_of(run)
        self.began = began
        return self.span(attributes, {"code": 2 if failed else 0}, (), unique, self._has(run, "parent"))

    def _failed(self, run: Record) -> dict[str, Any]:
        """Return the message of a failed run without a traceback, and the exception's class."""
        message = (text(self._has(run, "message")) or "").partition(_TRACEBACK)[0].strip()
        match = _CLASS.match(message)
        kind = match[1] if match else None
        return present({"status.message": message or None, "exception.type": kind})


class LangfuseReader(PlatformReader, name="langfuse", agent="langfuse"):
    """Reads observations of its API, its pages and its exports to blob storage."""

    row = Platform(
        models=frozenset({"GENERATION"}),
        tools="TOOL",
        failing=("ERROR",),
        has=_has(
            "kind=type run=id parent=parentObservationId,parent_observation_id "
            "trace=traceId,trace_id began=startTime,start_time ended=endTime,end_time "
            "state=level message=statusMessage,status_message session=sessionId,session_id "
            "service=traceName,trace_name "
            "model=model,provided_model_name tool=name "
            "prompt=usageDetails/input,usage_details/input reply=usageDetails/output,usage_details/output "
            "cost=totalCost,total_cost "
            "read=usageDetails/input_cached_tokens,usage_details/input_cached_tokens,"
            "usageDetails/cache_read_input_tokens,usage_details/cache_read_input_tokens "
            "written=usageDetails/cache_creation_input_tokens,usage_details/cache_creation_input_tokens "
            "reasoned=usageDetails/output_reasoning_tokens,usage_details/output_reasoning_tokens"
        ),
        apart=True,
    )


class LangsmithReader(PlatformReader, name="langsmith", agent="langsmith"):
    """Reads runs as its client gives them; `session_id` is a project, a thread is a session."""

    row = Platform(
        models=frozenset({"llm"}),
        tools="tool",
        failing=(),
        has=_has(
            "kind=run_type run=id parent=parent_run_id trace=trace_id began=start_time ended=end_time "
            "state=error message=error "
            "session=extra/metadata/thread_id,extra/metadata/session_id,extra/metadata/conversation_id "
            "service=session_name "
            "provider=extra/metadata/ls_provider model=extra/metadata/ls_model_name,extra/invocation_params/model "
            "tool=name "
            "prompt=prompt_tokens reply=completion_tokens cost=total_cost "
            "read=prompt_token_details/cache_read "
            "written=prompt_token_details/cache_creation reasoned=completion_token_details/reasoning"
        ),
    )


class MlflowReader(PlatformReader, name="mlflow", agent="mlflow"):
    """Reads traces with their spans, also those of version 2, whose attributes are JSON as text."""

    row = Platform(
        models=frozenset({"CHAT_MODEL", "LLM"}),
        tools="TOOL",
        failing=("STATUS_CODE_ERROR", "ERROR"),
        has=_has(
            "kind=attributes/mlflow.spanType run=span_id,context/span_id parent=parent_span_id,parent_id "
            "trace=trace_id,context/trace_id "
            "began=start_time_unix_nano,start_time ended=end_time_unix_nano,end_time "
            "state=status/code,status_code message=status/message,status_message "
            "session=info/trace_metadata/mlflow.trace.session service=info/tags/mlflow.traceName "
            "provider=attributes/mlflow.llm.provider model=attributes/mlflow.llm.model tool=name "
            "prompt=attributes/mlflow.chat.tokenUsage/input_tokens "
            "reply=attributes/mlflow.chat.tokenUsage/output_tokens cost=attributes/mlflow.llm.cost/total_cost "
            "read=attributes/mlflow.chat.tokenUsage/cache_read_input_tokens "
            "written=attributes/mlflow.chat.tokenUsage/cache_creation_input_tokens"
        ),
    )


class WeaveReader(PlatformReader, name="weave", agent="weave"):
    """Reads calls of models and tools: the usage of other calls has that of the calls in them."""

    row = Platform(
        models=frozenset({"llm"}),
        tools="tool",
        failing=(),
        has=_has(
            "kind=attributes/weave/kind run=id parent=parent_id trace=trace_id began=started_at ended=ended_at "
            "state=exception message=exception/message,exception session=thread_id service=project_id "
            "model=output/model,inputs/model tool=display_name,op_name "
            "prompt=summary/usage/*/prompt_tokens,summary/usage/*/input_tokens "
            "reply=summary/usage/*/completion_tokens,summary/usage/*/output_tokens"
        ),
    )

    def _run(self, run: Record, around: Record) -> list[Event]:
        """Read a run as in `PlatformReader`, with the name of its operation out of its address."""
        name = (text(run.get("op_name")) or "").rpartition("/op/")[2].partition(":")[0]
        return super()._run({**run, "op_name": name}, around)


class OpenaiAgentsReader(PlatformReader, name="openai_agents", agent="openai-agents"):
    """Reads traces and spans as a processor writes them; a trace stands before its spans."""

    _traces: dict[str, dict[str, Any]] = kept({})
    """The fields of traces that hold for their spans, by trace."""
    row = Platform(
        models=frozenset({"generation", "response"}),
        tools="function",
        failing=(),
        has=_has(
            "kind=span_data/type run=id parent=parent_id trace=trace_id began=started_at ended=ended_at "
            "state=error message=error/data/error,error/message session=group_id service=workflow_name "
            "model=span_data/model tool=span_data/name "
            "prompt=span_data/usage/input_tokens reply=span_data/usage/output_tokens "
            "read=span_data/usage/input_tokens_details/cached_tokens "
            "reasoned=span_data/usage/output_tokens_details/reasoning_tokens"
        ),
    )

    def _runs(self, record: Record, around: Record, depth: int) -> Iterator[tuple[Record, Record]]:
        """Yield runs as in `PlatformReader`; the fields of a trace hold for its spans."""
        if record.get("object") == "trace" and (name := text(record.get("id"))):
            self._traces[name] = {key: text(record.get(key)) for key in ("group_id", "workflow_name")}
        for run, _ in super()._runs(record, around, depth):
            yield run, self._traces.get(text(run.get("trace_id")) or "", {})
