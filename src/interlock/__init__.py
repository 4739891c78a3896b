"""Interlock: an event-sourced workflow engine on a durable log.

`domain`, `projections`, `processors` and `schemas` are links to the folders of the same names at the top of the
repository: what a reader of the tree sees first is what a user imports as `interlock.domain` and so on (ADR 2).
"""
