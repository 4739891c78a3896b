#!/usr/bin/env bash
# What continuous integration runs: lint, types, every test but soak. `.ci/run` and `make test` call this.
#
# The tests that need a broker run wherever one can be had. Where none can, what is missing is said first and last, the
# rest runs, and this ends with 3: a run without Kafka is not a passed one. Tests that fail end it with pytest's code, and
# lint or types with make's.
#
# Simulated runs compute for minutes and wait for nothing, and most other tests wait: so they run side by side, the
# simulated ones with what the others leave, and are shown behind them.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
# pyright comes whole with its wheel; asking the network for a newer one is not this file's business.
export PYRIGHT_PYTHON_IGNORE_WARNINGS=1
python=.venv/bin/python

"${MAKE:-make}" --no-print-directory check

broker=0
"$python" -m ops.kafka check || broker=$?
case $broker in
  0) others="not soak and not simulation" ;;
  3) others="not soak and not simulation and not kafka" ;;
  *) exit "$broker" ;;
esac

simulated=$(mktemp)
nice -n 10 "$python" -m pytest -m "simulation and not soak" --durations=10 >"$simulated" 2>&1 &
simulating=$!
trap 'kill "$simulating" 2>/dev/null || true; rm -f "$simulated"' EXIT
failed=0
"$python" -m pytest -m "$others" --durations=10 || failed=$?
echo "the simulated runs:"
wait "$simulating" || failed=$((failed ? failed : $?))
cat "$simulated"
[ "$failed" -eq 0 ] || exit "$failed"
[ "$broker" -eq 0 ] || "$python" -m ops.kafka check
