"""Families of kinds: each module has the test of a family, its words, evidence and chart, with a row a kind."""
