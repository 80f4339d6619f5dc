#!/usr/bin/env bash
# Makes sure that the report's tests find a browser.
set -euo pipefail
cd "$(dirname "$0")/.."
# shellcheck source=tools/lib.sh
. tools/lib.sh

find_browser() { command -v chromium || command -v chromium-browser || command -v google-chrome; }
ensure "Chromium, which opens the report in tests," find_browser chromium >/dev/null
