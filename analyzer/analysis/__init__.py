"""Answers → findings. Runs catalogue queries and returns frozen results; prints and renders nothing.

Names are loaded on first use: a window wants no detection.
"""

from analyzer.lazy import face

__getattr__, __dir__, __all__ = face(__name__)
