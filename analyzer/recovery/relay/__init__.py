"""Handing work to a fresh instance: the full context, the checkpoint,
and the summarizer that writes it.
"""
