#!/usr/bin/env bash
# Tests the example modules, each as its own module: examples/check.sh
# Offline but for modules that are not in the module cache yet.
set -euo pipefail
cd "$(dirname "$0")"
for mod in */go.mod; do
  dir=$(dirname "$mod")
  echo "== $dir"
  (
    cd "$dir"
    unset GOFLAGS
    go mod verify >/dev/null
    go vet ./...
    unformatted=$(gofmt -l .)
    if [ -n "$unformatted" ]; then
      echo "gofmt: $unformatted" >&2
      exit 1
    fi
    go test -count=1 ./...
    # Recording anew what is as recorded asks nobody and leaves every file alone.
    before=$(find testdata -type f | LC_ALL=C sort | xargs cksum)
    go test -count=1 ./... -update
    if [ "$before" != "$(find testdata -type f | LC_ALL=C sort | xargs cksum)" ]; then
      echo "go test -update changed recordings that were up to date" >&2
      exit 1
    fi
  )
done
