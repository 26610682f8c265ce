"""Rules as data: loaded, indexed, matched, decided by, explained and checked."""
