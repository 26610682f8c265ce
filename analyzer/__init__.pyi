from analyzer import analysis as analysis
from analyzer import classifier as classifier
from analyzer import errors as errors
from analyzer import events as events
from analyzer import recovery as recovery
from analyzer import report as report
from analyzer import store as store
from analyzer.analysis import check as check
from analyzer.analysis import compare as compare
from analyzer.analysis import overview as overview
from analyzer.analysis import spikes as spikes
from analyzer.analysis import unknowns as unknowns
from analyzer.classifier import Classification as Classification
from analyzer.classifier import classify as classify
from analyzer.errors import AnalyzerError as AnalyzerError
from analyzer.events import EventLog as EventLog
from analyzer.recovery import ContextRecovery as ContextRecovery
from analyzer.recovery import RateGuard as RateGuard
from analyzer.recovery import Retry as Retry
from analyzer.recovery import observe as observe
from analyzer.recovery import supervise as supervise
from analyzer.store import Store as Store
from analyzer.store import open_store as open_store

__version__: str
