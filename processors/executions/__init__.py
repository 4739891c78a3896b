"""Executions in the loop of a shard: the mailbox of each run, its activities, and its checkpoints."""
