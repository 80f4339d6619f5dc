from datetime import UTC, datetime
from pathlib import Path

import matplotlib as mpl
import pandas as pd
import pytest
from matplotlib.figure import Figure
from pyspark.sql import DataFrame, SparkSession

from pipelines.report.model import RunReport, write_report
from pipelines.tables import Lake, Transaction
from tests.notebooks.run_notebook import read_cells, run_notebook

NOTEBOOK = Path(__file__).parents[2] / "notebooks" / "explore_lake.py"
AT = datetime(2013, 11, 1, 12, tzinfo=UTC)


def write_lake(root: Path, spark: SparkSession) -> None:
    lake = Lake(str(root), "r1", lambda: spark)
    clean = spark.createDataFrame([("UA", 1)], "carrier string, flight int")
    predictions = spark.createDataFrame(
        [(1, AT, "trees", 1, 0.25), (2, AT, "trees", 1, 0.75)],
        "flight int, as_of timestamp, model string, model_version int, score double",
    )
    lake.append(clean, "clean", "flights", Transaction("test", 1))
    lake.append(predictions, "predictions", "late_arrival", Transaction("test", 1))


def write_run(runs: Path) -> None:
    auc = {"roc_auc": {"value": 0.75, "low": 0.73, "high": 0.77}}
    report = RunReport.model_validate(
        {
            "run_id": "r1",
            "project": "flights",
            "env": "dev",
            "seed": 7,
            "status": "succeeded",
            "started_at": "2026-11-30T10:15:02Z",
            "leaderboard": [
                {"model": "trees", "split": "test", "metrics": auc},
                {"model": "net", "split": "test", "metrics": {"roc_auc": {"value": 0.7}}},
                {"model": "trees", "split": "validation", "metrics": auc},
            ],
        }
    )
    write_report(report, runs / "r1" / "run_report.json")
    (runs / "latest").write_text("r1\n")


@pytest.mark.spark
def test_the_notebook_shows_tables_board_and_scores(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    write_lake(tmp_path / "lake", spark)
    write_run(tmp_path / "runs")
    monkeypatch.setenv("CAUCE_LAKE", str(tmp_path / "lake"))
    monkeypatch.setenv("CAUCE_RUNS", str(tmp_path / "runs"))
    mpl.use("agg")

    tables, board, board_plot, predictions, scores_plot = run_notebook(NOTEBOOK, spark=spark)

    assert isinstance(tables, pd.DataFrame)
    assert tables["table"].tolist() == ["clean/flights", "predictions/late_arrival"]
    assert tables["rows"].tolist() == [1, 2]
    assert isinstance(board, pd.DataFrame)
    assert board["roc_auc"].to_dict() == {"trees": 0.75, "net": 0.7}
    assert isinstance(board_plot, Figure)
    assert [axis.get_title() for axis in board_plot.axes] == ["roc auc"]
    assert isinstance(predictions, DataFrame)
    assert predictions.count() == 2
    assert isinstance(scores_plot, Figure)
    bars = scores_plot.axes[0].patches
    assert [(round(bar.get_x(), 3), bar.get_height()) for bar in bars] == [(0.25, 1), (0.725, 1)]


def test_cells_keep_their_lines_and_text_cells_are_left_out(tmp_path: Path):
    path = tmp_path / "n.py"
    path.write_text(
        "# Databricks notebook source\n# MAGIC %md\n# MAGIC # Title\n# COMMAND ----------\n"
        "display(1)\n# COMMAND ----------\n1 / 0\n"
    )
    assert read_cells(path) == [(5, "display(1)"), (7, "1 / 0")]
    with pytest.raises(ZeroDivisionError) as failure:
        run_notebook(path)
    assert failure.traceback[-1].lineno == 6


def test_what_only_databricks_runs_is_named(tmp_path: Path):
    path = tmp_path / "n.py"
    path.write_text("# Databricks notebook source\n# MAGIC %sql\n# MAGIC select 1\n")
    with pytest.raises(ValueError, match=r"n\.py:2: `# MAGIC %sql` runs on Databricks only"):
        read_cells(path)
    path.write_text("print(1)\n")
    with pytest.raises(ValueError, match=r"n\.py: the first line must be `# Databricks notebook"):
        read_cells(path)
