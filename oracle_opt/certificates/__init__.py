"""What a run proved, as data that others can check."""
