"""The durable log: the port, the journal's rules over it, and the backends."""
