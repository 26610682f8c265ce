"""What is known of limits, on disk for every process of a machine: rate limits by provider, usage limits by agent."""
