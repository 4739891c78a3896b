"""Publishing in the loop of a shard, and what its projections answer."""
