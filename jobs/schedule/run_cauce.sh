#!/usr/bin/env bash
# Runs one cauce command for a scheduler: in the checkout, with its environment, keeping the exit code.
#
#   run_cauce.sh run --project NAME
#
# 75 means "the same command may succeed later", so it is tried again: CAUCE_TRIES times in all (3),
# CAUCE_RETRY_AFTER_S seconds apart (300). Any other code is final and is passed on at once.
set -uo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.." || exit 78
PATH="$PWD/.venv/bin:$PATH"
if ! command -v cauce >/dev/null; then
  echo "cauce is neither in $PWD/.venv nor on the PATH; make setup installs it" >&2
  exit 78
fi

readonly TEMPORARY=75
tries=${CAUCE_TRIES:-3}
while :; do
  cauce "$@"
  code=$?
  tries=$((tries - 1))
  if [ "$code" -ne "$TEMPORARY" ] || [ "$tries" -le 0 ]; then exit "$code"; fi
  sleep "${CAUCE_RETRY_AFTER_S:-300}"
done
