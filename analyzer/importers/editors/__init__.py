"""Readers of agents that live inside an editor: chats and transcripts that say what each turn ended with."""
