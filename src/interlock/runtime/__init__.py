"""The shell around the engine: settings, clock, processes, and the one place where everything is put together."""
