#!/usr/bin/env bash
# What continuous integration runs: lint, types, every test but soak. `.ci/run` and `make test` call this.
#
# The tests that need a broker run wherever one can be had. Where none can, what is missing is said first and last, the
# rest runs, and this ends with 3: a run without Kafka is not a passed one. Tests that fail end it with pytest's code, and
# lint or types with make's.
#
# What waits for processes and brokers runs side by side with what computes, which gets what the first leaves and is shown
# behind it. Every test is in one of the two: the second is all that the first leaves out.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
# pyright comes whole with its wheel; asking the network for a newer one is not this file's business.
export PYRIGHT_PYTHON_IGNORE_WARNINGS=1
python=.venv/bin/python

"${MAKE:-make}" --no-print-directory check

broker=0
"$python" -m ops.kafka check || broker=$?
case $broker in
  0) chosen="not soak" ;;
  3) chosen="not soak and not kafka" ;;
  *) exit "$broker" ;;
esac

waiting=(tests/acceptance tests/api tests/bench tests/cases tests/contract tests/kafka)
computed=$(mktemp)
nice -n 10 "$python" -m pytest -m "$chosen" "${waiting[@]/#/--ignore=}" --durations=10 >"$computed" 2>&1 &
computing=$!
trap 'kill "$computing" 2>/dev/null || true; rm -f "$computed"' EXIT
failed=0
"$python" -m pytest -m "$chosen" "${waiting[@]}" --durations=10 || failed=$?
echo "what computes, simulated runs among it:"
wait "$computing" || failed=$((failed ? failed : $?))
cat "$computed"
[ "$failed" -eq 0 ] || exit "$failed"
[ "$broker" -eq 0 ] || "$python" -m ops.kafka check
