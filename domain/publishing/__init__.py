"""Who has authority: slots, publications, and the ledger of what their triggers claim."""
