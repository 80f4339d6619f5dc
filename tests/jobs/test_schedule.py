"""The scheduler files: the wrapper keeps exit codes, cron's line runs, Airflow loads the DAG."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
SCHEDULE = ROOT / "jobs" / "schedule"
AIRFLOW_PYTHON = ROOT / ".venv-airflow" / "bin" / "python"
STEPS = [
    "ingest",
    "clean",
    "validate",
    "featurize",
    "train",
    "evaluate",
    "score",
    "monitor",
    "report",
]
FIELD = re.compile(r"\*|\d+")

# Notes its arguments and its folder, then ends with the next code of the file `codes`.
STUB = """#!/bin/sh
echo "$PWD: $*" >>"$CALLS"
code=$(sed -n 1p "$CODES"); sed -i 1d "$CODES"
exit "$code"
"""

LOAD_DAG = """
import json, sys
from airflow.dag_processing.dagbag import DagBag

bag = DagBag(dag_folder=sys.argv[1], safe_mode=False)
dag = bag.dags["cauce"]
context = {"ds": "2026-11-30", "var": {"value": {"cauce_home": sys.argv[2], "cauce_project": "x"}}}
render = dag.get_template_env().from_string
report = {
    "import_errors": bag.import_errors,
    "catchup": dag.catchup,
    "max_active_runs": dag.max_active_runs,
    "timetable": dag.timetable.expression,
    "tasks": [
        [task.task_id, sorted(task.downstream_task_ids), render(task.bash_command).render(context)]
        for task in dag.topological_sort()
    ],
}
print(json.dumps(report))
"""


class Checkout:
    """A copy of the scheduler files with a stub in place of `cauce`."""

    def __init__(self, home: Path):
        self.home = home
        self.wrapper = home / "jobs" / "schedule" / "run_cauce.sh"
        self.calls, self.codes = home / "calls", home / "codes"
        shutil.copytree(SCHEDULE, self.wrapper.parent)
        stub = home / ".venv" / "bin" / "cauce"
        stub.parent.mkdir(parents=True)
        stub.write_text(STUB)
        stub.chmod(0o755)

    def run(self, *command: str, codes: list[int], **environ: str) -> int:
        self.codes.write_text("".join(f"{code}\n" for code in codes))
        known = {"PATH": os.environ["PATH"], "CALLS": str(self.calls), "CODES": str(self.codes)}
        environ = {**known, "CAUCE_RETRY_AFTER_S": "0", **environ}
        return subprocess.run(command, env=environ, check=False, cwd="/").returncode

    def seen(self) -> list[str]:
        return self.calls.read_text().splitlines() if self.calls.exists() else []


@pytest.fixture
def checkout(tmp_path: Path) -> Checkout:
    return Checkout(tmp_path / "check out")


@pytest.mark.parametrize("code", [0, 1, 2, 65, 66, 78, 130, 143])
def test_wrapper_passes_a_final_code_on_at_once(checkout: Checkout, code: int) -> None:
    assert checkout.run(str(checkout.wrapper), "run", "--set", "a.b=c d", codes=[code]) == code
    assert checkout.seen() == [f"{checkout.home}: run --set a.b=c d"]


@pytest.mark.parametrize(
    ("codes", "expected", "num_calls"),
    [
        pytest.param([75, 0], 0, 2, id="then it works"),
        pytest.param([75, 65], 65, 2, id="then a gate fails"),
        pytest.param([75, 75, 75, 0], 75, 3, id="tries used up"),
    ],
)
def test_wrapper_tries_a_temporary_failure_again(
    checkout: Checkout, codes: list[int], expected: int, num_calls: int
) -> None:
    assert checkout.run(str(checkout.wrapper), "run", codes=codes) == expected
    assert len(checkout.seen()) == num_calls


def test_number_of_tries_can_be_set(checkout: Checkout) -> None:
    assert checkout.run(str(checkout.wrapper), "run", codes=[75, 0], CAUCE_TRIES="1") == 75
    assert len(checkout.seen()) == 1


def test_wrapper_without_cauce_says_what_installs_it(checkout: Checkout) -> None:
    shutil.rmtree(checkout.home / ".venv")
    result = subprocess.run(
        [checkout.wrapper, "run"],
        env={"PATH": "/usr/bin:/bin"},
        check=False,
        capture_output=True,
        text=True,
    )
    assert result.returncode == 78
    assert "make setup installs it" in result.stderr


def read_crontab() -> tuple[dict[str, str], list[str], str]:
    """The settings, the five time fields and the command (as cron hands it to the shell)."""
    lines = (SCHEDULE / "crontab").read_text(encoding="utf-8").splitlines()
    lines = [line for line in lines if line and not line.startswith("#")]
    settings = dict(line.split("=", 1) for line in lines[:-1])
    *fields, command = lines[-1].split(None, 5)
    assert not re.search(r"(?<!\\)%", command)  # cron would take it for a line end
    return settings, fields, command.replace(r"\%", "%")


def test_crontab_has_one_daily_line() -> None:
    settings, fields, command = read_crontab()
    assert settings.keys() == {"SHELL", "CAUCE_HOME", "CAUCE_PROJECT", "CAUCE_LOCK"}
    assert len(fields) == 5
    assert all(FIELD.fullmatch(field) for field in fields)
    assert fields[2:] == ["*", "*", "*"]
    assert 0 <= int(fields[0]) < 60
    assert 0 <= int(fields[1]) < 24
    assert command.startswith("flock --nonblock --conflict-exit-code 75 ")


def run_crontab(checkout: Checkout, lock: Path, code: int) -> int:
    settings, _, command = read_crontab()
    places = {"CAUCE_HOME": str(checkout.home), "CAUCE_LOCK": str(lock)}
    environ = {**settings, **places, "CAUCE_PROJECT": "my project"}
    return checkout.run(settings["SHELL"], "-c", command, codes=[code], **environ)


@pytest.mark.parametrize("code", [0, 65, 78])
def test_crontab_line_runs_the_project_and_keeps_the_code(
    checkout: Checkout, tmp_path: Path, code: int
) -> None:
    assert run_crontab(checkout, tmp_path / "lock", code) == code
    assert checkout.seen() == [f"{checkout.home}: run --project my project"]


def test_crontab_line_ends_with_75_while_a_run_goes_on(checkout: Checkout, tmp_path: Path) -> None:
    lock = tmp_path / "lock"
    holder = subprocess.Popen(["flock", lock, "cat"], stdin=subprocess.PIPE)
    try:
        while subprocess.run(["flock", "--nonblock", lock, "true"], check=False).returncode == 0:
            pass
        assert run_crontab(checkout, lock, 0) == 75
    finally:
        holder.communicate()
    assert checkout.seen() == []
    assert run_crontab(checkout, lock, 0) == 0


@pytest.mark.slow
def test_airflow_loads_the_dag_and_its_commands_run(checkout: Checkout, tmp_path: Path) -> None:
    result = subprocess.run(
        [AIRFLOW_PYTHON, "-c", LOAD_DAG, SCHEDULE / "cauce_dag.py", checkout.home],
        env={"PATH": os.environ["PATH"], "AIRFLOW_HOME": str(tmp_path / "airflow")},
        check=True,
        capture_output=True,
        text=True,
    )
    report = json.loads(result.stdout.splitlines()[-1])
    tasks = report.pop("tasks")
    assert report == {
        "import_errors": {},
        "catchup": False,
        "max_active_runs": 1,
        "timetable": "15 5 * * *",
    }
    assert [[name, after] for name, after, _ in tasks] == [
        [step, STEPS[number + 1 : number + 2]] for number, step in enumerate(STEPS)
    ]
    for _, _, command in tasks:
        assert checkout.run("bash", "-c", command, codes=[65]) == 65
    assert checkout.seen() == [f"{checkout.home}: {step} --project x" for step in STEPS]
