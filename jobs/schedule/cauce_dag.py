"""Airflow 3 DAG of one project: a task a step, each a command line, once a day.

Reads two Airflow variables: `cauce_home` (the checkout) and `cauce_project` (name or path of the
project). Temporary failures (exit 75) are tried again by the wrapper; a gate, a missing input or a
configuration error would fail again, so Airflow itself retries nothing.
"""

from __future__ import annotations

from datetime import datetime, timedelta

from airflow.providers.standard.operators.bash import BashOperator
from airflow.sdk import DAG, chain

STEPS = (
    "ingest",
    "clean",
    "validate",
    "featurize",
    "train",
    "evaluate",
    "score",
    "monitor",
    "report",
)
COMMAND = (
    '"{{{{ var.value.cauce_home }}}}/jobs/schedule/run_cauce.sh" {step}'
    ' --project "{{{{ var.value.cauce_project }}}}"'
)

with DAG(
    dag_id="cauce",
    description="Raw files to features, models, scores and a report",
    schedule="15 5 * * *",
    start_date=datetime(2026, 1, 1),
    catchup=False,
    max_active_runs=1,  # a run holds the lake's lock
    default_args={"retries": 0, "execution_timeout": timedelta(hours=6)},
    tags=["cauce"],
):
    chain(*(BashOperator(task_id=step, bash_command=COMMAND.format(step=step)) for step in STEPS))
