#!/usr/bin/env bash
# Whether the code calls anything that is known to be vulnerable, in a dependency or
# in Go itself. The database comes as a Go module, pinned like any other, so that no
# other host is asked and the answer is the same tomorrow: raise both versions often.
set -euo pipefail
cd "$(dirname "$0")/.."
. .ci/tools.sh
DATABASE=v0.0.0-20261105234957-e22db6528018
CHECK=$(tool govulncheck golang.org/x/vuln/cmd/govulncheck v1.9.0)
INDEX=$(tool indexdb golang.org/x/vulndb/cmd/indexdb "$DATABASE")
DIR=$CACHE/vulndb-$DATABASE
if [ ! -e "$DIR/index/db.json" ]; then
  SOURCE=$(go mod download -json "golang.org/x/vulndb@$DATABASE" | sed -n 's/^\t"Dir": "\(.*\)",\{0,1\}$/\1/p')
  rm -rf "$DIR"
  "$INDEX" -out "$DIR.new" -vulns "$SOURCE/data/osv"
  mv "$DIR.new" "$DIR"
fi
"$CHECK" -db "file://$DIR" -test ./...
