#!/usr/bin/env bash
# make verify: the steps one after the other, cheap ones first, with the time that
# each took. The first that fails ends it.
set -euo pipefail
cd "$(dirname "$0")/.."
STEPS=(test lint vulns seeds mutants check-deploy test-clients test-tokens race fuzz)
export FUZZTIME=${FUZZTIME:-5s} # by hand: make fuzz FUZZTIME=5m
BEGAN=$SECONDS
TOOK=()
for step in "${STEPS[@]}"; do
  echo "=== make $step"
  START=$SECONDS
  if ! make --no-print-directory "$step"; then
    echo "=== make $step FAILED after $((SECONDS - START)) s" >&2
    exit 1
  fi
  TOOK+=("$step $((SECONDS - START)) s")
done
echo "=== verified in $((SECONDS - BEGAN)) s:"
printf '  %s\n' "${TOOK[@]}"
