"""Rules as data: how they are loaded, indexed, matched, decided by, explained and checked."""
