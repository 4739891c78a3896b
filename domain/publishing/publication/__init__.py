"""Publication: one decision to let an executable start work, with a life of its own."""
