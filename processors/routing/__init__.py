"""Routing in the loop of a shard."""
