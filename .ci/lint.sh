#!/usr/bin/env bash
# Style and the directions of imports (.golangci.yml), and that the rules about
# imports bite: each is broken on purpose in a copy of the tree.
set -euo pipefail
cd "$(dirname "$0")/.."
. .ci/tools.sh
LINT=$(tool golangci-lint github.com/golangci/golangci-lint/v2/cmd/golangci-lint v2.15.0)

go vet ./... # also compiles what the linters load
echo "== golangci-lint"
"$LINT" run ./...

echo "== rules about imports"
COPY=$(mktemp -d)
trap 'rm -rf "$COPY"' EXIT
git ls-files -z | xargs -0 cp --parents -t "$COPY"
PLANTED=()
plant() { # FILE PACKAGE IMPORT: breaks a rule
  printf 'package %s\n\nimport _ "%s"\n' "$2" "$3" > "$COPY/$1"
  PLANTED+=("$1")
}
plant config/planted.go              config  github.com/prometheus/client_golang/prometheus
plant router/planted_net.go          router  net
plant router/planted_http.go         router  net/http
plant router/planted_os.go           router  os
plant router/planted_log.go          router  log/slog
plant router/planted_climbs.go       router  sluice/gateway/openai
plant router/tpu/planted.go          tpu     sluice/config
plant router/tune/planted.go         tune    sluice/router/lab
plant gateway/planted.go             gateway github.com/prometheus/client_golang/prometheus
plant gateway/openai/planted.go      openai  sluice/config
plant gateway/openai/planted_wire.go openai  github.com/valyala/fasthttp
plant gateway/tokens/planted.go      tokens  sluice/gateway/openai
plant gateway/vllmsim/form/planted.go form  sluice/gateway/openai
plant gateway/fleet/planted.go       fleet   github.com/valyala/fasthttp
plant cmd/sluice/planted.go          main    github.com/valyala/fasthttp
FOUND=$(cd "$COPY" && "$LINT" run --enable-only depguard ./... 2>&1 || true)
for f in "${PLANTED[@]}"; do
  grep -q "^$f:.*(depguard)" <<< "$FOUND" && continue
  echo "no rule of .golangci.yml forbids what $f does:"
  cat "$COPY/$f"
  echo "$FOUND"
  exit 1
done
echo "${#PLANTED[@]} of ${#PLANTED[@]} forbidden imports are found"
