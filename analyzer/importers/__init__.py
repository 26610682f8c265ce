"""Other tools' logs → events. One file a format; its content shows the format, never the file's name."""

from analyzer.importers.base import Block, Hit, Reader, RowReader, Source, blank_lines, block_of
from analyzer.importers.formats import BY_NAME, FORMATS, NOT_LOGS, Format, detect
from analyzer.importers.heads import HEAD_BYTES, head_of

__all__ = [
    "BY_NAME",
    "FORMATS",
    "HEAD_BYTES",
    "NOT_LOGS",
    "Block",
    "Format",
    "Hit",
    "Reader",
    "RowReader",
    "Source",
    "blank_lines",
    "block_of",
    "detect",
    "head_of",
]
