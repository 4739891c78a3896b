"""Reconciliation: views that are not as the slots call for, and what was done about them."""
