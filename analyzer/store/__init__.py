"""The DuckDB projection of the logs. Derived: it can be thrown away and read again.

Names are loaded on first use: a query needs no code that reads logs, and an ingest without anything
new needs no frames.
"""

from typing import TYPE_CHECKING

from analyzer.lazy import face

if TYPE_CHECKING:
    from analyzer.importers import NOT_LOGS
    from analyzer.store.db.frames import ArrowStream, PlainRows, load_frugal_polars
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
        repeats_of,
        rules_of,
        templates_of,
    )
    from analyzer.store.sums.daily import CallerDays, DailySums
    from analyzer.store.upkeep.prune import Prune
    from analyzer.store.upkeep.quarantine import QuarantineRetry
    from analyzer.store.upkeep.rebuild import Rebuild, rebuild
    from analyzer.store.verdicts.reclassify import Change, Reclassification

__getattr__, __dir__ = face(
    __name__,
    {
        "analyzer.importers": "NOT_LOGS",
        "db.frames": "ArrowStream PlainRows load_frugal_polars",
        "db.location": "MEMORY",
        "db.tables.schema": "Column Header Param views",
        "doctor.checks": "Check",
        "doctor.examine": "examine",
        "ingest.batch": "Progress Tally",
        "ingest.discover": "Problem Stock Survey survey",
        "ingest.run": "IngestResult",
        "journal": "journal_of",
        "query.adhoc": "Answer",
        "query.catalogue": "Query catalogue find",
        "query.selection": "Selection kept_since moment narrows span",
        "store": "Store open_store",
        "sums.counting": "LOUD counts_of known_templates_of repeats_of rules_of templates_of",
        "sums.daily": "CallerDays DailySums",
        "upkeep.prune": "Prune",
        "upkeep.quarantine": "QuarantineRetry",
        "upkeep.rebuild": "Rebuild rebuild",
        "verdicts.reclassify": "Change Reclassification",
    },
)

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
    "Header",
    "IngestResult",
    "Param",
    "PlainRows",
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
