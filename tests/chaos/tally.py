"""The figures of a run."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(slots=True)
class Tally:
    """What happened, and what became of it."""

    acknowledged: int = 0
    stored: int = 0
    lost: int = 0
    duplicated: int = 0
    conflicts: int = 0
    """Lines with the id of another event: two writers, or two moments, that share their ids."""
    quarantined: int = 0
    writer_kills: int = 0
    writer_pauses: int = 0
    ingests: int = 0
    ingest_kills: int = 0
    ingests_refused: int = 0
    """Told that another one is at work."""
    reads: int = 0
    reads_refused: int = 0
    disks_full: int = 0
    """Ingests and writers that ran with a limit on the size of their files."""
    moves: int = 0
    """Files renamed, compressed, truncated after a copy, or given a torn line by somebody else."""
    intrusions: int = 0
    """Floods, bombs, deep folders and links that somebody hostile put among the logs."""
    violations: list[str] = field(default_factory=list)

    @property
    def sound(self) -> bool:
        """Whether every promise was kept."""
        return not (self.lost or self.duplicated or self.conflicts or self.violations) and self.acknowledged > 0
