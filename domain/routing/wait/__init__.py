"""Wait: a bookmark of an execution, as routing knows it."""
