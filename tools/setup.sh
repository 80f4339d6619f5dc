#!/usr/bin/env bash
# Sets up .venv once: Python packages, Horovod, Spark's jars. A second call does nothing and needs no network.
set -euo pipefail
cd "$(dirname "$0")/.."
unset MAKEFLAGS MFLAGS MAKEOVERRIDES # make's own; Horovod's build would take them for its own
# Two makes at once: the second waits.
exec 9<Makefile
if command -v flock >/dev/null; then flock 9; fi

STAMP=.venv/set-up
KEY=$(cat pyproject.toml constraints.txt pipelines/jars.lock tools/*.sh | cksum)
if [ -f "$STAMP" ] && [ "$(cat "$STAMP")" = "$KEY $PWD" ] &&
  .venv/bin/python -m pipelines.jars >/dev/null; then
  exit 0
fi

# shellcheck source=tools/lib.sh
. tools/lib.sh
: >"$LOG"

# Headers and venv come in packages of their own on Debian.
PYTHON_CHECK='import ensurepip, os, sys, sysconfig
fits = sys.version_info[:2] == (3, 11)
sys.exit(not (fits and os.path.exists(sysconfig.get_path("include") + "/Python.h")))'
find_python() {
  local candidate
  for candidate in ${PYTHON:-} python3.11 python3 /usr/bin/python3.11; do
    if "$candidate" -c "$PYTHON_CHECK" >/dev/null 2>&1; then
      PYTHON=$candidate
      return 0
    fi
  done
  return 1
}
find_java() {
  "${JAVA_HOME:+$JAVA_HOME/bin/}java" -version 2>&1 | grep -qE 'version "(17|21)[."]'
}
find_compiler() { command -v "${CXX:-g++}" >/dev/null; }
make_venv() {
  # A venv of another folder, or half of one, cannot start its pip.
  .venv/bin/pip --version >/dev/null 2>&1 || { rm -rf .venv && "$PYTHON" -m venv .venv; }
}
install() { .venv/bin/python -m pip install --quiet --constraint constraints.txt "$@"; }

say "set-up of $PWD/.venv; once, some minutes"
ensure "Python 3.11 (with venv and headers)" find_python python3.11 python3.11-venv python3.11-dev
ensure "Java 17 or 21" find_java openjdk-17-jre-headless
ensure "A C++ compiler" find_compiler g++

# A folder beside the checkout may hold a torch without CUDA, a tenth of the size.
LINKS=()
if [ -d ../shared/wheels ]; then LINKS=(--find-links ../shared/wheels); fi

stage "virtual environment" make_venv
stage "build tools" install setuptools wheel packaging
stage "Python packages" install ${LINKS[@]+"${LINKS[@]}"} --no-build-isolation \
  --editable '.[spark,demo,dev]'
# shellcheck source=tools/horovod.sh
. tools/horovod.sh
stage "Spark's jars" .venv/bin/python -m pipelines.jars
stage "check of what was installed" .venv/bin/python -m pip check
printf '%s %s' "$KEY" "$PWD" >"$STAMP"
