"""An agent's command under supervision: admitted, started, observed, judged, started again."""
