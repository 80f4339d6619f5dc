"""The product as a zip through spark-submit, on executors that have no cauce installed."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from pipelines.cli.run import STEPS

if TYPE_CHECKING:
    from conftest import Cluster

pytestmark = pytest.mark.integration
JOBS = Path(__file__).resolve().parents[2] / "jobs"

# A network on two ranks, one on each executor, beside the project's own models.
NETWORK = """
models:
  net:
    kind: torch.resnet
    params: {width: 8, blocks: 1}
    train: {backend: horovod, workers: 2, global_batch_rows: 128, epochs: 2}
"""

WHERE_IS_IT = """
from pyspark.sql import SparkSession
from pipelines.session import build_session

def places(_):
    import features.custom, pipelines.deep
    yield pipelines.deep.__file__, features.custom.__file__

spark = build_session("where")
found = spark.sparkContext.parallelize(range(4), 4).mapPartitions(places).collect()
import pipelines
conf = spark.sparkContext.getConf()
print("FOUND", sorted({path for pair in found for path in pair}), pipelines.__file__)
print("CONF", spark.sparkContext.master, conf.get("spark.driver.memory"))
spark.stop()
"""


def read_report(home: Path) -> dict[str, Any]:
    newest = (home / "runs" / "latest").read_text().strip()
    report: dict[str, Any] = json.loads((home / "runs" / newest / "run_report.json").read_text())
    return report


def test_executors_have_the_product_from_the_zip_alone(cluster: Cluster, tmp_path: Path) -> None:
    job = tmp_path / "where_is_it.py"
    job.write_text(WHERE_IS_IT, encoding="utf-8")
    (tmp_path / "conf" / "spark").mkdir(parents=True)
    ended = cluster.submit(job, cwd=tmp_path)
    assert ended.code == 0, ended.err[-3000:]
    (found,) = [line for line in ended.out.splitlines() if line.startswith("FOUND")]
    executors, driver = found.removeprefix("FOUND ").rsplit(" ", 1)
    assert "cauce.zip/pipelines/deep/__init__.py" in executors
    assert "cauce.zip/features/custom/__init__.py" in executors
    assert executors.count("/__init__.py") == executors.count("cauce.zip/")
    assert driver == f"{cluster.zip_file}/pipelines/__init__.py"
    # The command's own master and memory: the session sets neither.
    assert "CONF local-cluster[2,1,2048] 1g" in ended.out


@pytest.mark.timeout(1200)
def test_a_project_runs_whole_and_a_second_run_does_nothing(cluster: Cluster, orders: Path) -> None:
    (orders / "conf" / "orders" / "dev.yaml").write_text(NETWORK, encoding="utf-8")
    ended = cluster.submit(JOBS / "run_project.py", "--project", "conf/orders", cwd=orders)
    assert ended.code == 0, ended.out + ended.err[-3000:]
    report = read_report(orders)
    assert {step["name"]: step["status"] for step in report["steps"]} == dict.fromkeys(
        STEPS, "done"
    )
    (net,) = {
        (row["backend"], row["workers"]) for row in report["leaderboard"] if row["model"] == "net"
    }
    assert net == ("horovod", 2)
    expected = json.loads((orders / "expected.json").read_text())["orders"]
    clean = next(table for table in report["tables"] if table["name"] == "clean/orders")
    assert clean["rows"] == expected["clean"]
    page = orders / "runs" / report["run_id"] / "run_report.html"
    assert "<style>" in page.read_text(encoding="utf-8")

    again = cluster.submit(JOBS / "run_project.py", "--project", "conf/orders", cwd=orders)
    assert again.code == 0, again.err[-3000:]
    assert {step["status"] for step in read_report(orders)["steps"]} == {"skipped"}


def test_a_failed_gate_keeps_its_exit_code(cluster: Cluster, orders: Path) -> None:
    words = ["--project", "conf/orders", "--set", "sources.orders.max_rejected=0"]
    ended = cluster.submit(JOBS / "ingest_sources.py", *words, cwd=orders)
    assert ended.code == 65, ended.out + ended.err[-3000:]
    assert "records are unreadable" in ended.out + ended.err
    assert read_report(orders)["exit_code"] == 65
