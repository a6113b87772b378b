#!/usr/bin/env bash
# Runs every fuzz target of the tree for a while; a finding fails and is kept as
# a seed in the package's testdata/fuzz.
set -euo pipefail
cd "$(dirname "$0")/.."
. .ci/tools.sh
FOR=${1:-20s}
COUNT=0
PACKAGES=$(go list -f '{{if or .TestGoFiles .XTestGoFiles}}{{.ImportPath}}{{end}}' ./...)
for package in $PACKAGES; do
  TARGETS=$(go test -list '^Fuzz' "$package") # one that doesn't build fails here
  for target in $(grep '^Fuzz' <<< "$TARGETS" || true); do
    echo "== $package $target"
    go test -run '^$' -fuzz "^$target\$" -fuzztime "$FOR" "$package"
    COUNT=$((COUNT + 1))
  done
done
echo "$COUNT fuzz targets, $FOR each"
[ "$COUNT" -gt 0 ]
