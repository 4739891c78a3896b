"""DeadLetter: what could not be routed, with its reason and origin."""
