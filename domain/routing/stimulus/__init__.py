"""Stimulus: something that happened outside, and what it met."""
