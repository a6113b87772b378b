#!/usr/bin/env bash
# The official OpenAI clients for Python, Node.js and Go (and Anthropic's for
# Python) against the gateway: the demo for what works, scripted replicas for what
# fails. Everything is installed under .cache.
set -euo pipefail
cd "$(dirname "$0")/.."
. .ci/tools.sh
HERE=$PWD/.ci/clients
PYTHON=$CACHE/clients/python
NODE=$CACHE/clients/node
WORK=$(mktemp -d)
STARTED=()
stop() {
  for pid in "${STARTED[@]}"; do kill "$pid" 2> /dev/null || true; done
  wait
  rm -rf "$WORK"
}
trap stop EXIT

# same KEY FOLDER tells whether FOLDER was made for KEY.
same() { [ "$(cat "$2/.made-for" 2> /dev/null)" = "$1" ]; }

# installed_python makes the virtual environment, with Node.js in it.
installed_python() {
  local key
  key=$(cat "$HERE/python/requirements.txt"; python3 --version 2> /dev/null || true)
  same "$key" "$PYTHON" && return
  rm -rf "$PYTHON"
  python3 -c 'import ensurepip, venv' 2> /dev/null || debian no-python3-venv python3-venv
  python3 -m venv "$PYTHON"
  "$PYTHON/bin/pip" install -q --disable-pip-version-check -r "$HERE/python/requirements.txt"
  cat "$HERE/python/requirements.txt" > "$PYTHON/.made-for"
  python3 --version >> "$PYTHON/.made-for"
}

installed_node() {
  local key
  key=$(cat "$HERE/node/package.json")
  same "$key" "$NODE" && return
  rm -rf "$NODE"
  mkdir -p "$NODE"
  cp "$HERE/node/package.json" "$NODE"
  (cd "$NODE" && PATH=$PYTHON/bin:$PATH npm install --silent --no-audit --no-fund --no-package-lock --no-update-notifier)
  cp "$HERE/node/package.json" "$NODE/.made-for"
}

# started LOG COMMAND... runs a command until the end of this script.
started() {
  local log=$1
  shift
  "$@" > "$log" 2>&1 &
  STARTED+=($!)
}

# said LOG PATTERN waits for a line in a log and prints what the pattern's group holds.
said() {
  for _ in $(seq 100); do
    local found
    found=$(sed -n "s|$2.*|\1|p" "$1" | head -1)
    [ -n "$found" ] && { echo "$found"; return; }
    sleep 0.1
  done
  echo "no line like $2:" >&2
  cat "$1" >&2
  return 1
}

# ready OPS waits until a gateway says that replicas are ready.
ready() {
  for _ in $(seq 100); do
    exec 3<> "/dev/tcp/${1%:*}/${1#*:}"
    printf 'GET /readyz HTTP/1.0\r\n\r\n' >&3
    grep -q '200 OK' <&3 && { exec 3>&-; return; }
    exec 3>&-
    sleep 0.1
  done
  echo "the gateway at $1 did not become ready" >&2
  return 1
}

installed_python
installed_node
go build -trimpath -o "$WORK/sluice" ./cmd/sluice
# Without optimising: the client's thousands of types compile in half the time.
(cd "$HERE" && go build -mod=readonly -gcflags='github.com/openai/...=-N -l' -o "$WORK/" ./replica ./go && mv "$WORK/go" "$WORK/go-client")

ADDRESS='\(127[0-9.]*:[0-9]*\)'
started "$WORK/demo.log" "$WORK/sluice" demo --listen 127.0.0.1:0 --ops 127.0.0.1:0 --control 127.0.0.1:0
started "$WORK/replica.log" "$WORK/replica"
REPLICA=$(said "$WORK/replica.log" "^$ADDRESS")
SINGLE=$(said "$WORK/replica.log" ".* $ADDRESS")
SLUICE_POOLS__SCRIPTED__REPLICAS=http://$REPLICA SLUICE_POOLS__SINGLE__REPLICAS=http://$SINGLE \
  started "$WORK/faults.log" "$WORK/sluice" serve --config "$HERE/faults.yaml"
DEMO=$(said "$WORK/demo.log" ".*http://$ADDRESS/v1")
FAULTS=$(said "$WORK/faults.log" ".* data=$ADDRESS")
ready "$(said "$WORK/demo.log" ".*http://$ADDRESS/metrics")"
ready "$(said "$WORK/faults.log" ".* ops=$ADDRESS")"

cp "$HERE/node/check.js" "$NODE/check.js" # beside its node_modules, where it is looked for
ran() { # CLIENT COMMAND...: the checks of one client; one that breaks off has failed
  local name=$1
  shift
  "$@" "$DEMO" "$FAULTS" "$REPLICA" || echo "FAILED $name broke off"
}
{
  ran python "$PYTHON/bin/python" "$HERE/python/check.py"
  ran node env PATH="$PYTHON/bin:$PATH" node "$NODE/check.js"
  ran go "$WORK/go-client"
} 2>&1 | tee "$WORK/results"

PASSED=$(grep -c '^ok ' "$WORK/results" || true)
FAILED=$(grep -c '^FAILED ' "$WORK/results" || true)
if [ "$FAILED" -gt 0 ]; then
  echo "-- log of the gateway with scripted replicas"
  tail -40 "$WORK/faults.log"
fi
echo "$PASSED passed, $FAILED failed"
[ "$FAILED" = 0 ] && [ "$PASSED" -gt 0 ]
