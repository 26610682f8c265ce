"""Scripted agents: what real ones print and do, without a model."""
