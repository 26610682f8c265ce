"""The tokens that logs of agents count, and that no prompt has those of a cache twice."""

from __future__ import annotations

from tests import each_row
from tests.importers.new_kinds.cases import AGENTS
from tests.importers.new_kinds.test_new_kinds import read

NAMES = ("input_tokens", "output_tokens", "cache_read_tokens", "cache_write_tokens")
COUNTED = {
    "grok": [(70, 9, 20, None), (9, 1, None, None)],
    "letta": [(70, 7, None, None)],
    "junie": [(70, 7, 5, None)],
    "auggie": [(70, 7, None, None)] * 2,
    "amp": [(70, 7, 5, None)],
    "trae_agent": [(70, 7, 5, None)] * 2 + [(65, 7, 5, None)] * 2,
    "zed": [(70, 7, 5, None)],
    "grok_cli": [(70, 7, None, None)],
}
"""Of each format the tokens of its requests: input, output, read from a cache, written to it."""


@each_row("name", sorted({case.format for case in AGENTS}))
def test_each_request_is_counted_once(name: str) -> None:
    """Of trae-agent's services, Anthropic's alone count what a cache held apart."""
    events = [event for case in AGENTS if case.format == name for event in read(case)]
    spent = [event.payload for event in events if event.type == "usage.recorded"]
    assert [tuple(found.get(key) for key in NAMES) for found in spent] == COUNTED.get(name, [])
    assert len({found["request"] for found in spent}) == len(spent)
