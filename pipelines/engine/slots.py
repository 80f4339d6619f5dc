"""Task slots of this machine: more ranks than `local[N]` runs at once are refused at the start."""

from __future__ import annotations

import os
import re
import sys
from pathlib import Path

from pipelines.engine.state import StepState
from pipelines.errors import ConfigError
from pipelines.project import Project
from pipelines.session import read_conf

_LOCAL = re.compile(r"local(?:\[(\*|\d+)(?:,\s*\d+)?\])?")


def check_slots(project: Project, conf_file: Path | None, trained: StepState | None) -> None:
    """Checks every network that Horovod would train in a session that this run is going to start.

    A session that is there already and a cluster are asked when training starts.

    Args:
        project: The typed project.
        conf_file: Spark's settings on one machine, where there are some.
        trained: Last good result of `train`; workers it already had are not asked for again.

    Raises:
        ConfigError: A model needs more workers than there are slots.
    """
    slots = local_slots(conf_file)
    if slots is None or _has_session():
        return
    before = trained.fingerprint["config"] if trained else {}
    for name, model in project.models.items():
        key = f"models.{name}.train.workers"
        if model.train is None or model.train.backend != "horovod":
            continue
        if model.train.workers > slots and before.get(key) != model.train.workers:
            raise ConfigError(
                f"{key} = {model.train.workers}, but this machine has {slots} task slots",
                where=f"{conf_file or 'Spark'}  spark.master",
                remedy=f"Fix: --set {key}={slots}, or submit to a cluster with "
                f"{model.train.workers} slots",
            )


def local_slots(conf_file: Path | None) -> int | None:
    """Tasks that run at once under the settings' `local` master; None where a cluster decides.

    Raises:
        ConfigError: An unreadable `conf_file`.
    """
    if "PYSPARK_GATEWAY_PORT" in os.environ:  # spark-submit
        return None
    settings = read_conf(conf_file) if conf_file else {}
    match = _LOCAL.fullmatch(settings.get("spark.master", "local[*]"))
    if match is None:
        return None
    if match[1] == "*":
        return len(os.sched_getaffinity(0))
    return int(match[1] or 1)


def _has_session() -> bool:
    sql = sys.modules.get("pyspark.sql")
    return sql is not None and sql.SparkSession.getActiveSession() is not None
