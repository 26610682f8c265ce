"""A second opinion on errors that no rule knows: it proposes a reason and never decides.

Nothing here is loaded by `classify`; the command line and the analysis ask for it.
"""

from analyzer.classifier.suggestion.model import Model, Suggestion, leaning, suggest

__all__ = ["Model", "Suggestion", "leaning", "suggest"]
