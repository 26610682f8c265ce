"""The DuckDB projection of the logs. Derived: it can be thrown away and read again.

What few need is loaded on first use: an ingest with nothing new wants neither frames nor the checks of `doctor`.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from analyzer.importers import NOT_LOGS
from analyzer.store.db.frames import ArrowStream, load_frugal_polars
from analyzer.store.db.location import MEMORY
from analyzer.store.db.tables.schema import Column, Header, Param, views
from analyzer.store.ingest.batch import Progress, Tally
from analyzer.store.ingest.discover import Problem, Stock, Survey, survey
from analyzer.store.ingest.run import IngestResult
from analyzer.store.journal import journal_of
from analyzer.store.query.adhoc import Answer
from analyzer.store.query.catalogue import Query, catalogue, find
from analyzer.store.query.protocols import Answering, Filling, Judging
from analyzer.store.query.selection import Selection, kept_since, moment, narrows, span
from analyzer.store.store import Store, open_store
from analyzer.store.upkeep.prune import Prune
from analyzer.store.upkeep.quarantine import QuarantineRetry
from analyzer.store.upkeep.rebuild import Rebuild, rebuild

if TYPE_CHECKING:
    from analyzer.store.doctor.checks import Check
    from analyzer.store.doctor.examine import examine
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
    from analyzer.store.verdicts.reclassify import Change, Reclassification

_HOMES = {
    "Check": "analyzer.store.doctor.checks",
    "examine": "analyzer.store.doctor.examine",
    **dict.fromkeys(
        ("LOUD", "counts_of", "known_templates_of", "mixes_of", "repeats_of", "rules_of", "templates_of"),
        "analyzer.store.sums.counting",
    ),
    **dict.fromkeys(("CallerDays", "DailySums"), "analyzer.store.sums.daily"),
    "DetectorStates": "analyzer.store.sums.daily",
    **dict.fromkeys(("Change", "Reclassification"), "analyzer.store.verdicts.reclassify"),
}

__all__ = [
    "LOUD",
    "MEMORY",
    "NOT_LOGS",
    "Answer",
    "Answering",
    "ArrowStream",
    "CallerDays",
    "Change",
    "Check",
    "Column",
    "DailySums",
    "DetectorStates",
    "Filling",
    "Header",
    "IngestResult",
    "Judging",
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
    if name in _HOMES:
        return getattr(import_module(_HOMES[name]), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
