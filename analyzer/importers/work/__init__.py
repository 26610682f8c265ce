"""What logs say of the work beside its errors: where it was done and by whom, and the tools that were called."""
