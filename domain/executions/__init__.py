"""What a run does next."""
