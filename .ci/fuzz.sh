#!/usr/bin/env bash
# Runs every fuzz target of the tree for a while; a finding fails and is kept as
# a seed in the package's testdata/fuzz.
set -euo pipefail
cd "$(dirname "$0")/.."
FOR=${1:-20s}
for package in $(go list ./...); do
  for target in $(go test -list '^Fuzz' "$package" | grep '^Fuzz' || true); do
    echo "== $package $target"
    go test -run '^$' -fuzz "^$target\$" -fuzztime "$FOR" "$package"
  done
done
