"""A store's rows for other tools: views day by day, written only where they changed, and slices that are stores."""
