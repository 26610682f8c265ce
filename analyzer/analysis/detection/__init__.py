"""The pure core of detection: statistics without SQL and without rendering."""
