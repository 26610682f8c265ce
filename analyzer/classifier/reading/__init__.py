"""Anything into facts: exceptions, bodies, texts, headers; and token counts and reset times out of them."""
