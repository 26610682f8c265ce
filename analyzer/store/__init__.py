"""The DuckDB projection of the logs. Derived: it can be thrown away and read again.

Names are loaded on first use: a query wants nothing that reads logs, and an ingest with nothing new no frames.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from analyzer.importers import NOT_LOGS
    from analyzer.store.db.frames import ArrowStream, load_frugal_polars
    from analyzer.store.db.location import MEMORY
    from analyzer.store.db.tables.schema import Column, Header, Param, views
    from analyzer.store.doctor.checks import Check
    from analyzer.store.doctor.examine import examine
    from analyzer.store.ingest.batch import Progress, Tally
    from analyzer.store.ingest.discover import Problem, Stock, Survey, survey
    from analyzer.store.ingest.run import IngestResult
    from analyzer.store.journal import journal_of
    from analyzer.store.query.adhoc import Answer
    from analyzer.store.query.catalogue import Query, catalogue, find
    from analyzer.store.query.selection import Selection, kept_since, moment, narrows, span
    from analyzer.store.store import Store, open_store
    from analyzer.store.sums.counting import (
        LOUD,
        counts_of,
        known_templates_of,
        mixes_of,
        repeats_of,
        rules_of,
        templates_of,
    )
    from analyzer.store.sums.daily import CallerDays, DailySums, DetectorStates
    from analyzer.store.upkeep.prune import Prune
    from analyzer.store.upkeep.quarantine import QuarantineRetry
    from analyzer.store.upkeep.rebuild import Rebuild, rebuild
    from analyzer.store.verdicts.reclassify import Change, Reclassification

_HOMES = {
    name: module
    for module, names in {
        "analyzer.importers": "NOT_LOGS",
        "analyzer.store.db.frames": "ArrowStream load_frugal_polars",
        "analyzer.store.db.location": "MEMORY",
        "analyzer.store.db.tables.schema": "Column Header Param views",
        "analyzer.store.doctor.checks": "Check",
        "analyzer.store.doctor.examine": "examine",
        "analyzer.store.ingest.batch": "Progress Tally",
        "analyzer.store.ingest.discover": "Problem Stock Survey survey",
        "analyzer.store.ingest.run": "IngestResult",
        "analyzer.store.journal": "journal_of",
        "analyzer.store.query.adhoc": "Answer",
        "analyzer.store.query.catalogue": "Query catalogue find",
        "analyzer.store.query.selection": "Selection kept_since moment narrows span",
        "analyzer.store.store": "Store open_store",
        "analyzer.store.sums.counting": "LOUD counts_of known_templates_of mixes_of repeats_of rules_of templates_of",
        "analyzer.store.sums.daily": "CallerDays DailySums DetectorStates",
        "analyzer.store.upkeep.prune": "Prune",
        "analyzer.store.upkeep.quarantine": "QuarantineRetry",
        "analyzer.store.upkeep.rebuild": "Rebuild rebuild",
        "analyzer.store.verdicts.reclassify": "Change Reclassification",
    }.items()
    for name in names.split()
}

__all__ = [
    "LOUD",
    "MEMORY",
    "NOT_LOGS",
    "Answer",
    "ArrowStream",
    "CallerDays",
    "Change",
    "Check",
    "Column",
    "DailySums",
    "DetectorStates",
    "Header",
    "IngestResult",
    "Param",
    "Problem",
    "Progress",
    "Prune",
    "QuarantineRetry",
    "Query",
    "Rebuild",
    "Reclassification",
    "Selection",
    "Stock",
    "Store",
    "Survey",
    "Tally",
    "catalogue",
    "counts_of",
    "examine",
    "find",
    "journal_of",
    "kept_since",
    "known_templates_of",
    "load_frugal_polars",
    "mixes_of",
    "moment",
    "narrows",
    "open_store",
    "rebuild",
    "repeats_of",
    "rules_of",
    "span",
    "survey",
    "templates_of",
    "views",
]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    # Kept: from now on it is found without this function.
    found = globals()[name] = getattr(import_module(_HOMES[name]), name)
    return found
