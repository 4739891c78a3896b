"""What tests of workflows and of the engine stand on."""
