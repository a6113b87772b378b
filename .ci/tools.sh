# shellcheck shell=bash
# Sourced by the scripts beside it: where tools are kept, and how they get there.
# Everything is installed once, by the ordinary clients, under .cache.
CACHE=$PWD/.cache
export GOTOOLCHAIN=go1.27.3 # as the Makefile has it
mkdir -p "$CACHE/bin"

# tool NAME PACKAGE VERSION prints the path of a Go program, built if need be.
tool() {
  local path=$CACHE/bin/$1-$3
  if [ ! -x "$path" ]; then
    echo "installing $1 $3" >&2
    GOBIN=$CACHE/bin GOFLAGS=-mod=mod CGO_ENABLED=0 go install -trimpath "$2@$3" >&2
    mv "$CACHE/bin/$1" "$path"
  fi
  echo "$path"
}

# debian COMMAND PACKAGE... installs Debian packages unless the command is there.
debian() {
  local command=$1
  shift
  command -v "$command" > /dev/null && return
  echo "installing $*" >&2
  apt-get update -qq >&2
  DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "$@" >&2
}
