"""Slots and publications: who has authority, since when, and what a candidate still waits for."""
