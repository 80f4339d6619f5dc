# Databricks notebook source
# MAGIC %md
# MAGIC # What a run left in the lake
# MAGIC Tables with their versions and rows, the leaderboard of the newest run, and the scores.
# MAGIC
# MAGIC `CAUCE_LAKE` and `CAUCE_RUNS` name the two folders; without them `./lake` and `./runs`.

# COMMAND ----------

import os
from pathlib import Path

import matplotlib.pyplot as plt
import pandas as pd
from pyspark.sql import functions as F

from pipelines.report.model import load_report
from pipelines.tables import LAYERS, Lake

lake_folder = Path(os.environ.get("CAUCE_LAKE", "lake")).resolve()
runs_folder = Path(os.environ.get("CAUCE_RUNS", "runs")).resolve()
lake = Lake(str(lake_folder), "notebook", lambda: spark)

# COMMAND ----------

# MAGIC %md
# MAGIC ## Tables
# MAGIC Versions and counts come from Delta's logs; no data file is read.

# COMMAND ----------

tables = [
    (layer, log.parent.name)
    for layer in LAYERS
    for log in sorted(lake_folder.glob(f"{layer}/*/_delta_log"))
]
display(
    pd.DataFrame(
        {
            "table": [f"{layer}/{name}" for layer, name in tables],
            "version": [lake.version(layer, name) for layer, name in tables],
            "rows": [sum(lake.num_rows(layer, name).values()) for layer, name in tables],
            "MB": [round(lake.num_bytes(layer, name) / 1e6, 1) for layer, name in tables],
        }
    )
)

# COMMAND ----------

# MAGIC %md
# MAGIC ## Leaderboard
# MAGIC Metrics on the test part; `low` and `high` are the interval by blocks of days.

# COMMAND ----------

run_id = (runs_folder / "latest").read_text(encoding="utf-8").strip()
report = load_report(runs_folder / run_id / "run_report.json")
board = pd.DataFrame(
    [
        {
            "model": row.model,
            "metric": metric,
            "value": measured.value,
            "low": measured.low,
            "high": measured.high,
            "seconds": row.seconds,
        }
        for row in report.leaderboard
        if row.split == "test"
        for metric, measured in row.metrics.items()
    ],
    columns=["model", "metric", "value", "low", "high", "seconds"],
)
display(board.pivot_table("value", "model", "metric", sort=False).round(4))

# COMMAND ----------

metrics = board["metric"].unique()
figure, axes = plt.subplots(
    1, max(len(metrics), 1), figsize=(3.2 * max(len(metrics), 1), 2.6), squeeze=False, sharey=True
)
for axis, metric in zip(axes[0], metrics, strict=False):
    measured = board[board["metric"] == metric].dropna(subset=["value"])
    low = measured["value"] - measured["low"].fillna(measured["value"])
    high = measured["high"].fillna(measured["value"]) - measured["value"]
    axis.errorbar(measured["value"], measured["model"], xerr=[low, high], fmt="o", capsize=3)
    axis.set_title(metric.replace("_", " "))
    axis.grid(axis="x", alpha=0.3)
figure.suptitle(f"Test part, {report.project}, run {report.run_id}", fontsize=10)
figure.tight_layout()
display(figure)

# COMMAND ----------

# MAGIC %md
# MAGIC ## Scores
# MAGIC Counted by Spark into twenty bins; only the counts come here.

# COMMAND ----------

for layer, name in tables:
    if layer != "predictions":
        continue
    predictions = lake.read(layer, name)
    display(predictions.orderBy(F.desc("as_of")).limit(20))
    low, high = predictions.agg(F.min("score"), F.max("score")).first()
    width = (high - low) / 20 or 1.0
    place = F.least(F.floor((F.col("score") - low) / width), F.lit(19)).alias("bin")
    counts = predictions.groupBy("model", "model_version", place).count().toPandas()
    figure, axis = plt.subplots(figsize=(6, 2.6))
    for (model, version), bins in counts.groupby(["model", "model_version"]):
        label = f"{model} v{version}"
        axis.bar(low + (bins["bin"] + 0.5) * width, bins["count"], width, alpha=0.6, label=label)
    axis.set(xlabel="score", ylabel="rows", title=f"predictions/{name}")
    axis.legend()
    display(figure)
