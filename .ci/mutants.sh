#!/usr/bin/env bash
# Plants each bug of gateway/chaos/testdata/mutants in a copy of the tree and plays
# seeds until one finds it. Fails if SEEDS seeds find nothing, or if a patch doesn't
# fit the tree any more.
set -euo pipefail
cd "$(dirname "$0")/.."
SEEDS=${1:-200}
FOLDER=gateway/chaos/testdata/mutants
COPY=$(mktemp -d)
trap 'rm -rf "$COPY"' EXIT
git ls-files -z | xargs -0 cp --parents -t "$COPY"
FAILED=0
plant() { git -C "$COPY" apply "$@"; }
for patch in "$FOLDER"/*.patch; do
  name=$(basename "$patch" .patch)
  path=$PWD/$patch
  if ! plant "$path"; then
    echo "$name: the patch doesn't fit the tree: make it anew"
    FAILED=1
    continue
  fi
  if SAID=$(cd "$COPY" && go test ./gateway/chaos -run TestSeeds -seeds "$SEEDS" -timeout 5m 2>&1); then
    echo "$name: SURVIVED $SEEDS seeds"
    FAILED=1
  elif FOUND=$(grep -m1 -oE 'seed [0-9]+: .*' <<< "$SAID"); then
    printf '%-30s %s\n' "$name" "${FOUND:0:150}"
  else
    echo "$name: failed, and not by a seed:"
    head -20 <<< "$SAID"
    FAILED=1
  fi
  plant -R "$path"
done
exit $FAILED
