"""The nightly check: detections of days become incidents, incidents become the findings of a night."""
