"""The trigger index: which bindings of which publication a stimulus meets."""
