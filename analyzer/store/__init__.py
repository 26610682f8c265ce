"""The DuckDB projection of the logs. Derived: it can be thrown away and read again."""

from analyzer.importers import NOT_LOGS
from analyzer.store.adhoc import Answer
from analyzer.store.catalogue import Query, catalogue, find
from analyzer.store.checks import Check
from analyzer.store.database import views
from analyzer.store.discovery import Problem
from analyzer.store.doctor import examine
from analyzer.store.ingest import IngestResult, journal_of
from analyzer.store.lock import MEMORY
from analyzer.store.moments import moment, span
from analyzer.store.prune import Prune
from analyzer.store.quarantine import Retry
from analyzer.store.rebuild import Rebuild, rebuild
from analyzer.store.reclassify import Change, Reclassification
from analyzer.store.store import Store, open_store
from analyzer.store.tally import Tally

__all__ = [
    "MEMORY",
    "NOT_LOGS",
    "Answer",
    "Change",
    "Check",
    "IngestResult",
    "Problem",
    "Prune",
    "Query",
    "Rebuild",
    "Reclassification",
    "Retry",
    "Store",
    "Tally",
    "catalogue",
    "examine",
    "find",
    "journal_of",
    "moment",
    "open_store",
    "rebuild",
    "span",
    "views",
]
