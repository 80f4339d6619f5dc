#!/usr/bin/env bash
# Gives real Airflow an environment of its own, .venv-airflow: its pins and ours do not fit together.
set -euo pipefail
cd "$(dirname "$0")/.."
AIRFLOW=3.3.2
STAMP=.venv-airflow/set-up
KEY="$AIRFLOW $(cksum <tools/airflow-constraints.txt) $PWD"
if [ -f "$STAMP" ] && [ "$(cat "$STAMP")" = "$KEY" ]; then exit 0; fi
# shellcheck source=tools/lib.sh
. tools/lib.sh

make_venv() { rm -rf .venv-airflow && .venv/bin/python -m venv .venv-airflow; }
stage "environment for Airflow" make_venv
stage "Airflow $AIRFLOW" .venv-airflow/bin/python -m pip install --quiet "apache-airflow==$AIRFLOW" \
  --constraint tools/airflow-constraints.txt
printf '%s' "$KEY" >"$STAMP"
