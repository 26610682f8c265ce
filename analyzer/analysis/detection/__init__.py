"""Statistics of change, without SQL and without rendering: counts in, findings out. The method: docs/DETECTION.md."""

from analyzer.analysis.detection.detect import detect

__all__ = ["detect"]
