"""What every test may ask for; the pieces stand in tests/support, one module for each thing that is stood up."""

pytest_plugins = ["tests.support.kafka"]
