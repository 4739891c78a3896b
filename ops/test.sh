#!/usr/bin/env bash
# What continuous integration runs: lint, types, every test but soak. `.ci/run` and `make test` call this.
#
# The tests that need a broker run wherever one can be had. Where none can, what is missing is said first and last, the
# rest runs, and this ends with 3: a run without Kafka is not a passed one. Tests that fail end it with pytest's code, and
# lint or types with make's.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
# pyright comes whole with its wheel; asking the network for a newer one is not this file's business.
export PYRIGHT_PYTHON_IGNORE_WARNINGS=1
python=.venv/bin/python

"${MAKE:-make}" --no-print-directory check

broker=0
"$python" -m ops.kafka check || broker=$?
case $broker in
  0) exec "$python" -m pytest -m "not soak" --durations=10 ;;
  3)
    "$python" -m pytest -m "not soak and not kafka" --durations=10
    "$python" -m ops.kafka check
    ;;
  *) exit "$broker" ;;
esac
