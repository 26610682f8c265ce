"""Trajectories, one document a run: ATIF, which many agents write, and those of mini-swe-agent, SWE-agent, trae-agent.

They have no failed calls but the one that ended a run, or a step: retries stay inside their clients. Sources: the
wheels atif 1.8.0 and mini-swe-agent 2.4.6, SWE-agent's `sweagent/agent/agents.py` of July 2026, and
bytedance/trae-agent, `trae_agent/utils/trajectory_recorder.py`, February 2026.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any

from analyzer.agent_stream import count, mapping, text
from analyzer.events import Event
from analyzer.events.model import present
from analyzer.importers.failures import number
from analyzer.importers.records import ANTHROPIC, RecordReader, identity_of, moment_here, session_of
from analyzer.importers.shapes.rows import listed

_NAME = re.compile(r"[A-Za-z0-9][\w.-]{0,60}")
_LIMITS = frozenset({"LimitsExceeded", "TimeExceeded", "exit_cost", "exit_total_execution_time"})
_FINE = frozenset({"Submitted", "submitted", "exit_forfeit", "exit_command", "UserInterruption"})
_SUBMITTED = re.compile(r"^submitted \((.{1,200})\)$")
_OUT_OF_STEPS = "Task execution exceeded maximum steps without completion."
"""The result of a run of trae-agent that was as long as it may be."""


class AtifReader(RecordReader, name="atif", agent="atif", visibility="none"):
    """Reads trajectories, and those of sub-agents inside of them; the document names the agent."""

    def _events_of(self, record: Mapping[str, Any]) -> Iterable[Event]:
        agent = mapping(record.get("agent"))
        named = text(agent.get("name")) or ""
        self.program = named.lower() if _NAME.fullmatch(named) else self.agent
        self.session = (
            text(record.get("session_id")) or text(record.get("trajectory_id")) or session_of(self.source.path)
        )
        model = text(agent.get("model_name"))
        known = {"agent": self.program, "agent_version": text(agent.get("version")), "model": model}
        for step in (step for step in listed(record.get("steps")) if step.get("is_copied_context") is not True):
            self.time(step.get("timestamp"))
            self.known = present({**known, "model": text(step.get("model_name")) or model})
            asked = number(step.get("llm_call_count"))
            self.see(requests=(1 if asked is None else max(asked, 0)) if step.get("source") == "agent" else 0)
            self.see_calls(*(text(call.get("function_name")) for call in listed(step.get("tool_calls"))))
        return [event for inner in listed(record.get("subagent_trajectories")) for event in self._events_of(inner)]


class SweReader(RecordReader, name="swe_agent", agent="swe-agent", visibility="none"):
    """Reads one run; `info` has how it ended."""

    def _events_of(self, record: Mapping[str, Any]) -> Iterable[Event]:
        info = mapping(record.get("info"))
        mini = text(info.get("mini_version"))
        self.program = "mini-swe-agent" if mini else self.agent
        self.session = text(record.get("instance_id")) or session_of(self.source.path)
        model = mapping(mapping(mapping(info.get("config")).get("model"))).get("model_name")
        version = mini or text(info.get("swe_agent_version"))
        self.begin(self.session, agent=self.program, agent_version=version, model=model)
        self.see(requests=count(mapping(info.get("model_stats")).get("api_calls")) or 0)
        messages = list(listed(record.get("messages")))
        events = []
        for place, message in enumerate(messages):
            code = number(mapping(message.get("extra")).get("returncode"))
            if code:
                events += self.tool_failed("bash", f"Exit code {code}", self.session, place, identity_of(message))
        return [*events, *self._ended(info, mapping(messages[-1].get("extra")) if messages else {}, record)]

    def _ended(self, info: Mapping[str, Any], extra: Mapping[str, Any], record: Mapping[str, Any]) -> list[Event]:
        status = text(info.get("exit_status"))
        after = _SUBMITTED.match(status or "")
        status = after[1] if after else status
        unique = self.session, status, identity_of(info.get("model_stats"))
        if status is None or status in _FINE:
            return []
        if status in _LIMITS:
            consumed = count(mapping(info.get("model_stats")).get("api_calls"))
            limit = count(mapping(mapping(info.get("config")).get("agent")).get("step_limit")) or None
            return [
                self.event("budget.exhausted", {"caller": self.caller, "consumed": consumed, "limit": limit}, *unique)
            ]
        steps = list(listed(record.get("trajectory")))
        said = text(extra.get("exception_str")) or (text(steps[-1].get("response")) if steps else None)
        context = "the context window is exceeded" if status == "exit_context" else None
        return [self.failed({"exception_class": status, "message": context or said}, *unique)]


class TraeReader(RecordReader, name="trae_agent", agent="trae-agent", visibility="none"):
    """Reads one run of trae-agent; times name no zone, and are taken for this machine's."""

    def _events_of(self, record: Mapping[str, Any]) -> Iterable[Event]:
        self.begin(session_of(self.source.path))
        events: list[Event] = []
        for place, asked in enumerate(listed(record.get("llm_interactions"))):
            self.clock(moment_here(asked.get("timestamp")))
            self.learn(provider=asked.get("provider"), model=asked.get("model"))
            self.see(requests=1)
            # All services but Anthropic's count those from the cache as input, too.
            usage, whole = mapping(asked.get("response")).get("usage"), self.known.get("provider") != "anthropic"
            events += self.spent_as(usage, ANTHROPIC, self.session, place, whole=whole)
        steps = list(listed(record.get("agent_steps")))
        for place, step in enumerate(steps):
            self.clock(moment_here(step.get("timestamp")))
            unique = self.session, number(step.get("step_number")) or place, text(step.get("timestamp"))
            for call in listed(step.get("tool_calls")):
                self.called(text(call.get("name")), text(call.get("call_id")))
            for result in listed(step.get("tool_results")):
                tool = self.tool_of(text(result.get("call_id")))
                if result.get("success") is False:
                    said = text(result.get("error")) or text(result.get("result"))
                    events += self.tool_failed(tool, said, *unique, text(result.get("call_id")))
            if said := text(step.get("error")):
                events.append(self.failed({"message": said}, *unique))
        if record.get("final_result") == _OUT_OF_STEPS:
            budget = {"caller": self.caller, "consumed": len(steps), "limit": number(record.get("max_steps"))}
            events.append(self.event("budget.exhausted", budget, self.session, text(record.get("start_time"))))
        return events
