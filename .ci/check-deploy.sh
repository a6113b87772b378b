#!/usr/bin/env bash
# Checks deploy/ with the programs that will read it: manifests, rules, the
# gateway's file, the binary alone in a root folder. Needs no cluster and no engine.
set -euo pipefail
cd "$(dirname "$0")/.."
. .ci/tools.sh
KUBERNETES=v1.37.2
WORK=$(mktemp -d)
trap 'rm -rf "$WORK"' EXIT

echo "== the files agree with each other"
go test -count=1 ./deploy

echo "== image: its build, and its result in an empty root as user 65532"
BUILD=$(sed -n 's/^ *go build \(.*\) -o .*/go build \1/p' deploy/Dockerfile)
mkdir -p "$WORK/root"
RELEASE=check CGO_ENABLED=0 bash -c "$BUILD -o '$WORK/root/sluice' ./cmd/sluice"
if [ "$(id -u)" = 0 ]; then
  alone() { chroot --userspec=65532:65532 "$WORK/root" /sluice "$@"; }
else
  alone() { "$WORK/root/sluice" "$@"; } # chroot is root's
fi
alone version
alone demo --for 2s --listen 127.0.0.1:0 --ops 127.0.0.1:0 --control 127.0.0.1:0 > /dev/null 2> "$WORK/log" ||
  { cat "$WORK/log"; exit 1; }

echo "== the gateway's file"
SAID=$("$WORK/root/sluice" check deploy/kubernetes/gateway/sluice.yaml)
echo "$SAID"
grep -q ' 0 warnings' <<< "$SAID"

echo "== Prometheus"
PROMTOOL=$CACHE/debian/usr/bin/promtool
if [ ! -x "$PROMTOOL" ]; then # unpacked, not installed: its package starts a server
  (cd "$WORK" && { apt-get download -qq -o APT::Sandbox::User=root prometheus || { apt-get update -qq && apt-get download -qq -o APT::Sandbox::User=root prometheus; }; })
  dpkg -x "$WORK"/prometheus_*.deb "$CACHE/debian"
fi
"$PROMTOOL" check config deploy/prometheus/prometheus.yml
"$PROMTOOL" check rules --lint=all deploy/prometheus/rules.yml
"$PROMTOOL" test rules deploy/prometheus/rules_test.yml

echo "== Kubernetes"
KUSTOMIZE=$(tool kustomize sigs.k8s.io/kustomize/kustomize/v5 v5.8.2)
KUBECONFORM=$(tool kubeconform github.com/yannh/kubeconform/cmd/kubeconform v0.8.0)
SCHEMAS=$CACHE/schemas-$KUBERNETES
if [ ! -d "$SCHEMAS" ]; then
  MODULE=$(cd "$WORK" && GOFLAGS=-mod=mod go mod download -json "k8s.io/kubernetes@$KUBERNETES" | sed -n 's/.*"Dir": "\(.*\)".*/\1/p')
  go run .ci/schemas/main.go "$MODULE/api/openapi-spec/swagger.json" "$WORK/schemas"
  mv "$WORK/schemas" "$SCHEMAS"
fi
"$KUSTOMIZE" build deploy/kubernetes > "$WORK/all.yaml"
valid() { # PodMonitoring and Rules are Google's; their description isn't Kubernetes'
  "$KUBECONFORM" -strict -summary -skip PodMonitoring,Rules \
    -schema-location "$SCHEMAS/{{.ResourceKind}}{{.KindSuffix}}.json" "$1"
}
valid "$WORK/all.yaml"
sed 's/terminationGracePeriodSeconds/terminationGraceSeconds/' "$WORK/all.yaml" > "$WORK/typo.yaml"
if valid "$WORK/typo.yaml" > /dev/null; then
  echo "a misspelt field was not found: the check of the manifests is broken"
  exit 1
fi
