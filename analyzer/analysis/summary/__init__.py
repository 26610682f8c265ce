"""What a report says of a window: its tables, its findings, and what these rest on."""
