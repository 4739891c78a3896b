"""ClaimLedger: what the authoritative publications of a shell claim."""
