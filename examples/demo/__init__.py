"""The main job, from start to end, as a person would do it: `make demo`."""
