"""Trajectories, a document a run: ATIF, mini-swe-agent, SWE-agent and trae-agent.

Many agents write ATIF. The only failed calls are those that ended a run or a step: retries stay
inside their clients.

Sources: the wheels atif 1.8.0 and mini-swe-agent 2.4.6, SWE-agent's `sweagent/agent/agents.py` of
July 2026, and bytedance/trae-agent, `trae_agent/utils/trajectory_recorder.py`, February 2026.
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
"""The result of a run of trae-agent that reached its limit of steps."""


class AtifReader(RecordReader, name="atif", agent="atif", visibility="none"):
    """Reads trajectories with those of sub-agents in them; the document names the agent."""

    def _events_of(self, record: Mapping[str, Any]) -> Iterable[Event]:
        agent = mapping(record.get("agent"))
        name = text(agent.get("name")) or ""
        self.program = name.lower() if _NAME.fullmatch(name) else self.agent
        session = text(record.get("session_id")) or text(record.get("trajectory_id"))
        self.session = session or session_of(self.source.path)
        model = text(agent.get("model_name"))
        facts = {"agent": self.program, "agent_version": text(agent.get("version")), "model": model}
        for step in listed(record.get("steps")):
            if step.get("is_copied_context") is True:
                continue
            self.time(step.get("timestamp"))
            self.known = present({**facts, "model": text(step.get("model_name")) or model})
            calls = number(step.get("llm_call_count"))
            requests = 1 if calls is None else max(calls, 0)
            self.count_session(requests=requests if step.get("source") == "agent" else 0)
            tools = (text(call.get("function_name")) for call in listed(step.get("tool_calls")))
            self.count_calls(*tools)
        inner = listed(record.get("subagent_trajectories"))
        return [event for trajectory in inner for event in self._events_of(trajectory)]


class SweReader(RecordReader, name="swe_agent", agent="swe-agent", visibility="none"):
    """Reads one run; `info` has its end."""

    def _events_of(self, record: Mapping[str, Any]) -> Iterable[Event]:
        info = mapping(record.get("info"))
        mini = text(info.get("mini_version"))
        self.program = "mini-swe-agent" if mini else self.agent
        self.session = text(record.get("instance_id")) or session_of(self.source.path)
        model = mapping(mapping(info.get("config")).get("model")).get("model_name")
        version = mini or text(info.get("swe_agent_version"))
        self.begin(self.session, agent=self.program, agent_version=version, model=model)
        self.count_session(requests=count(mapping(info.get("model_stats")).get("api_calls")) or 0)
        messages = list(listed(record.get("messages")))
        events = []
        for place, message in enumerate(messages):
            code = number(mapping(message.get("extra")).get("returncode"))
            if code:
                events += self.tool_failed("bash", f"Exit code {code}", self.session, place, identity_of(message))
        return [*events, *self._ended(info, mapping(messages[-1].get("extra")) if messages else {}, record)]

    def _ended(self, info: Mapping[str, Any], extra: Mapping[str, Any], record: Mapping[str, Any]) -> list[Event]:
        status = text(info.get("exit_status"))
        if submitted := _SUBMITTED.match(status or ""):
            status = submitted[1]
        unique = self.session, status, identity_of(info.get("model_stats"))
        if status is None or status in _FINE:
            return []
        if status in _LIMITS:
            agent = mapping(mapping(info.get("config")).get("agent"))
            budget = {
                "caller": self.caller,
                "consumed": count(mapping(info.get("model_stats")).get("api_calls")),
                "limit": count(agent.get("step_limit")) or None,
            }
            return [self.event("budget.exhausted", budget, *unique)]
        steps = list(listed(record.get("trajectory")))
        message = text(extra.get("exception_str"))
        if status == "exit_context":
            message = "the context window is exceeded"
        elif message is None and steps:
            message = text(steps[-1].get("response"))
        return [self.failed({"exception_class": status, "message": message}, *unique)]


class TraeReader(RecordReader, name="trae_agent", agent="trae-agent", visibility="none"):
    """Reads one run of trae-agent; its times without a zone are read in this machine's."""

    def _events_of(self, record: Mapping[str, Any]) -> Iterable[Event]:
        self.begin(session_of(self.source.path))
        events: list[Event] = []
        for place, request in enumerate(listed(record.get("llm_interactions"))):
            self.clock(moment_here(request.get("timestamp")))
            self.learn(provider=request.get("provider"), model=request.get("model"))
            self.count_session(requests=1)
            usage = mapping(request.get("response")).get("usage")
            # The input of all services except Anthropic's includes the tokens from the cache.
            whole = self.known.get("provider") != "anthropic"
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
                    output = text(result.get("error")) or text(result.get("result"))
                    events += self.tool_failed(tool, output, *unique, text(result.get("call_id")))
            if message := text(step.get("error")):
                events.append(self.failed({"message": message}, *unique))
        if record.get("final_result") == _OUT_OF_STEPS:
            budget = {"caller": self.caller, "consumed": len(steps), "limit": number(record.get("max_steps"))}
            events.append(self.event("budget.exhausted", budget, self.session, text(record.get("start_time"))))
        return events
