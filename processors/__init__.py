"""The single writers of the shards: receive, decide, append, apply, deliver."""
