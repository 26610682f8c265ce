"""A lake made again: from its journal and its logs, beside the former tables, whose place it takes as one batch."""
