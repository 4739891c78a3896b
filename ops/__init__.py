"""What runs Interlock: brokers for development and tests, dashboards, alerts, runbooks, benchmarks."""
