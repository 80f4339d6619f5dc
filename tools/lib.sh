# shellcheck shell=bash
# What the set-up scripts share: one line a stage with its seconds, and programs that may be missing.
LOG=${LOG:-build/setup.log}
mkdir -p "$(dirname "$LOG")"

say() { printf '%s\n' "$*" >&2; }

# stage WHAT COMMAND...: runs the command into the log; shows the log's end and stops when it fails.
stage() {
  local what=$1 began=$SECONDS
  shift
  printf 'set-up: %-58s' "$what" >&2
  if "$@" >>"$LOG" 2>&1 </dev/null; then
    say "$((SECONDS - began)) s"
  else
    local code=$?
    say "FAILED"
    tail -n 25 "$LOG" >&2
    say "The whole log: $PWD/$LOG"
    exit "$code"
  fi
}

apt_install() { apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq "$@"; }

# ensure WHAT CHECK PACKAGE...: CHECK, a function, decides. Root on Debian installs what is missing,
# anyone else is told the line that does.
ensure() {
  local what=$1 check=$2
  shift 2
  "$check" && return
  if [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null; then
    stage "$what is missing: apt-get install $*" apt_install "$@"
    "$check" && return
  fi
  say "$what is missing."
  say "Fix: apt-get install $*   (Debian, as root; elsewhere your system's package of it)"
  exit 78
}
