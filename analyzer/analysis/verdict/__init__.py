"""The verdict on one run: `output` reads what it printed, `answer` says what follows."""
