"""The command line: `interlock`."""
