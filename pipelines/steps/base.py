"""What a step is given and what it gives back."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, TypeVar

from pipelines.errors import CauceError, InputMissingError
from pipelines.project import LoadedProject
from pipelines.project.code import code_hash
from pipelines.project.schema import Project
from pipelines.report.model import BoardRow, Gate, QualityRow, RowFlow, TableFlow, TableReport
from pipelines.tables import Lake

Facts = Mapping[str, Any]
_Done = TypeVar("_Done")
# Small tables wait for commits, not for cores: some at a time hide each other's waiting.
_AT_A_TIME = 4


@dataclass(frozen=True)
class StepContext:
    """What every step may use.

    Args:
        loaded: The project and its places.
        run_id: Id of this run.
        now: Instant the run started, UTC.
        lake: The project's tables.
        facts_of: Step → the facts of its last result, from this run or an earlier one; None
            where it never ran.
        scratch: Gives a folder of this run for files that do not outlive it.
    """

    loaded: LoadedProject
    run_id: str
    now: datetime
    lake: Lake
    facts_of: Callable[[str], Facts | None]
    scratch: Callable[[str], str]

    @property
    def project(self) -> Project:
        """The typed project file."""
        return self.loaded.project

    def facts(self, step: str) -> Facts:
        """Facts of an earlier step.

        Raises:
            InputMissingError: That step never ran.
        """
        found = self.facts_of(step)
        if found is None:
            raise InputMissingError(
                f"step {step} has not run yet", where=self.lake.root, remedy=f"Fix: cauce {step}"
            )
        return found

    def training_set(self) -> str | None:
        """Name of the project's training set, or None."""
        return next(iter(self.project.training_sets), None)


@dataclass(frozen=True)
class StepResult:
    """What a step did; rows are null where the step has no such outcome.

    Args:
        line: What a person reads on the step's line.
        flow: Where records went, over all tables.
        by_table: The same, for each source or table.
        tables: Tables as the step left them.
        data_quality: Verdicts of rules.
        leaderboard: Models on parts.
        gates: Verdicts of gates.
        warnings: What a person should know although the step ended well.
        facts: What later steps and later runs need to know; plain JSON values.
        evidence: Kind of evidence → its values, for the report.
        failure: Why the run ends here although the step did its work.
        details: Headers and rows printed below the step's line.
    """

    line: str
    flow: RowFlow = field(default_factory=RowFlow)
    by_table: Sequence[TableFlow] = ()
    tables: Sequence[TableReport] = ()
    data_quality: Sequence[QualityRow] = ()
    leaderboard: Sequence[BoardRow] = ()
    gates: Sequence[Gate] = ()
    warnings: Sequence[str] = ()
    facts: Facts = field(default_factory=dict)
    evidence: Mapping[str, Any] = field(default_factory=dict)
    failure: CauceError | None = None
    details: tuple[Sequence[str], Sequence[Sequence[Any]]] | None = None


def hash_of(*parts: Any) -> str:
    """SHA-256 of plain JSON values."""
    text = json.dumps(parts, sort_keys=True, ensure_ascii=False, default=str)
    return hashlib.sha256(text.encode()).hexdigest()


def source_definition(loaded: LoadedProject, name: str) -> str:
    """Identity of how a source's records are read: its section and the converting code."""
    section = loaded.resolved["sources"][name]
    keys = ("files", "schema", "time_zone", "nulls", "extra_column")
    return hash_of(
        {key: section[key] for key in keys},
        loaded.resolved["defaults"],
        code_hash(["pipelines.ingest.convert", "pipelines.ingest.readers"], ["pipelines.ingest"]),
    )


def clean_definition(loaded: LoadedProject, name: str, lookups: Mapping[str, str]) -> str:
    """Identity of how a source's rows are decided about: reading, rules, dedup, functions, lookups.

    Args:
        loaded: The project.
        name: Source.
        lookups: Source whose rows a function is given → identity of those rows.
    """
    section = loaded.resolved["sources"][name]
    functions = [
        f"features.{how['function'].rpartition('.')[0]}"
        for how in section["derive"].values()
        if isinstance(how, dict)
    ]
    return hash_of(
        source_definition(loaded, name),
        {key: section[key] for key in ("derive", "row_rules", "dedup")},
        lookups,
        code_hash(["pipelines.cleaning", *functions], ["pipelines.cleaning", "features.custom"]),
    )


def table_report(
    lake: Lake, layer: str, name: str, *, published: bool | None = None
) -> TableReport:
    """A table as the log describes it now."""
    if not lake.exists(layer, name):
        return TableReport(name=f"{layer}/{name}")
    return TableReport(
        name=f"{layer}/{name}",
        version=lake.version(layer, name),
        published=published,
        rows=sum(lake.num_rows(layer, name).values()),
        bytes=lake.num_bytes(layer, name),
    )


def at_once(
    ctx: StepContext, names: Sequence[str], work: Callable[[str], _Done]
) -> dict[str, _Done]:
    """Does the same for several tables at a time; gives the results in the order of `names`.

    Spark jobs belong to the step's group. All are waited for; the first error by name is raised.
    """
    from pyspark import inheritable_thread_target

    inherit = inheritable_thread_target(ctx.lake.spark())
    with ThreadPoolExecutor(_AT_A_TIME) as pool:
        started = {name: pool.submit(inherit(work), name) for name in names}
        try:
            wait(started.values())
        except BaseException:
            # Interrupted: what nobody waits for any more must not go on.
            ctx.lake.spark().sparkContext.cancelAllJobs()
            raise
    return {name: future.result() for name, future in started.items()}


def add_flows(flows: Sequence[RowFlow]) -> RowFlow:
    """Sums flows, null where no flow has a number."""
    total = {}
    for name in RowFlow.model_fields:
        values = [value for flow in flows if (value := getattr(flow, name)) is not None]
        total[name] = sum(values) if values else None
    return RowFlow(**total)
