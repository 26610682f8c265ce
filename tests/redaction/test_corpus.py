"""Made-up secrets in the forms in which texts hold them: how many come through, with a floor a form."""

from __future__ import annotations

import functools
import json
from collections.abc import Callable
from urllib.parse import quote

import pytest

from analyzer.redaction import redact
from analyzer.redaction.families import FAMILIES
from tests import each_row, sampled
from tests.redaction.dresses import DRESSES, survives
from tests.redaction.named import ALONE, named
from tests.redaction.tokens import made_up

SEEDS = 3

FORMS: dict[str, tuple[Callable[[str], str], float]] = {
    "alone": (lambda text: text, 1),
    "in prose": (lambda text: f"the server said {text} and stopped", 1),
    "in brackets": (lambda text: f"no access ({text})", 1),
    "as code writes it": (lambda text: f'client = connect("{text}", retries=3)', 1),
    "behind an equals sign": (lambda text: f"SETTING={text}", 1),
    "in a line of its own": (lambda text: f"env:\n{text}\n", 1),
    "in JSON": (lambda text: json.dumps({"said": [text]}), 1),
    "in CSV": (lambda text: f"id,said\n1,{text},2026-11-21\n", 1),
    "in a table": (lambda text: f"| name | said |\n| --- | --- |\n| a | {text} |\n", 1),
    "in a box": (lambda text: f"│ a │ {text} │", 1),
    "in XML": (lambda text: f"<said>{text}</said>", 1),
    "behind a repr's line break": (lambda text: f"stderr=output={f'env:{chr(10)}{text}{chr(10)}'.encode()!r}", 1),
    "percent-encoded": (lambda text: f"GET /x?said={quote(f' {text} ', safe='')}", 1),
    "in JSON in JSON": (DRESSES["JSON in JSON"], 1),
    "in colours": (DRESSES["colours"], 1),
    "in HTML": (DRESSES["HTML"], 1),
}
"""How a text is written, and the least share of secrets that go."""

DRESSED = {
    "none": 0.996,
    "Python's repr of bytes": 0.996,
    "URL with slashes, too": 0.996,
    "JSON in JSON": 0.996,
    "colours": 0.996,
    "HTML": 0.996,
}
"""What a text with a name and its secret goes through, and the least share of secrets that go."""
BARE: dict[str, tuple[Callable[[str], str], float]] = {
    form: (FORMS[form][0], 0.91) for form in ("in prose", "behind a repr's line break", "percent-encoded")
}
"""The same of secrets without their names: of those of small letters and digits from 28 on, which are no ids."""


@functools.cache
def corpus() -> list[tuple[str, str, str]]:
    """The name of a family, a text of it, and its secret."""
    return [(family.name, *made_up(family, seed)) for family in FAMILIES if not family.reach for seed in range(SEEDS)]


@pytest.mark.no_cover  # it runs what other tests reach, many thousand times
@each_row("form", FORMS)
def test_secrets_of_all_families_go(form: str) -> None:
    """In each form, of the secrets of all families no more come through than its floor says."""
    write, floor = FORMS[form]
    through, tried = [], sampled(corpus(), [*FORMS].index(form) % SEEDS)  # of each family one secret, another by turns
    for name, text, secret in tried:
        clean = redact(write(text))
        if secret in clean or quote(secret, safe="") in clean:
            through.append((name, write(text)))
    assert 1 - len(through) / len(tried) >= floor, through


@pytest.mark.no_cover  # it runs what other tests reach, many thousand times
@pytest.mark.parametrize("dress", DRESSED)
def test_secrets_with_a_name_go(dress: str) -> None:
    """In each dress, of secrets that a name tells no more come through than its floor says."""
    tried = named() if dress == "none" else sampled(named(), [*DRESSED].index(dress) % 3)
    through = [each.text for each in tried if survives(each.secret, redact(DRESSES[dress](each.text)))]
    assert 1 - len(through) / len(tried) >= DRESSED[dress], through


@pytest.mark.no_cover  # it runs what other tests reach, many thousand times
@pytest.mark.parametrize("form", BARE)
def test_generated_secrets_go_without_their_names(form: str) -> None:
    """Where the name is gone, secrets that look like no id go, and no more come through than the floor says."""
    write, floor = BARE[form]
    alone = [each.secret for each in named() if each.shape in ALONE]
    through = [secret for secret in alone if survives(secret, redact(write(secret)))]
    assert len(alone) > 500
    assert 1 - len(through) / len(alone) >= floor, through


def test_what_is_made_up_differs() -> None:
    """Each seed of each family gives another secret, or the floors would speak of less than they say."""
    assert len({(name, secret) for name, _, secret in corpus()}) == len(corpus())
    assert len({each.secret for each in named()}) == len(named())
