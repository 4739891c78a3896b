"""Measures the journal and the engine beside what they stand on, in the same run: `make bench`."""
