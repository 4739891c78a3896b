"""What authors write, and what it compiles to."""
