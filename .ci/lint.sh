#!/usr/bin/env bash
# Style and the directions of imports (.golangci.yml).
set -euo pipefail
cd "$(dirname "$0")/.."
VERSION=v2.15.0
TOOLS=$PWD/.cache/bin
if [ ! -x "$TOOLS/golangci-lint-$VERSION" ]; then
  GOBIN=$TOOLS go install "github.com/golangci/golangci-lint/v2/cmd/golangci-lint@$VERSION"
  mv "$TOOLS/golangci-lint" "$TOOLS/golangci-lint-$VERSION"
fi
"$TOOLS/golangci-lint-$VERSION" run ./...
