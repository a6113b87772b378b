#!/usr/bin/env bash
# Benchmarks: the gateway beside nginx, then the parts of a request. Everything
# that is compared is measured in one run; compare the ratios, not the figures.
set -euo pipefail
cd "$(dirname "$0")/.."
. .ci/tools.sh
debian nginx nginx-light
debian taskset util-linux
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
go test -c -o "$work/gateway.test" ./gateway
echo "== beside nginx: both on core 0, replica and load on core 1"
for round in 1 2 3; do
  (cd gateway && taskset -c 1 "$work/gateway.test" -test.run '^$' -test.bench BesideNginx -test.benchtime "${BENCHTIME:-60000x}")
done
echo "== parts of a request"
go test -run '^$' -bench 'Inspect|Walk' ./gateway/openai
go test -run '^$' -bench OfferRelease ./router
go test -run '^$' -bench . ./gateway/account ./gateway/conn ./gateway/fleet
