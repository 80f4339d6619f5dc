"""`cauce config`: settings with their origin, one file that loads again, a schema that tells."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from pipelines.project import load_project
from pipelines.project.json_schema import project_schema
from pipelines.project.yaml import parse_yaml


def test_origin_of_every_value(cauce: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CAUCE__MODELS__TREES__PARAMS__DEPTH", "4")
    ended = cauce("config", "show", "--origin", "--set", "project.seed=5")
    lines = {
        line.split("  ", 1)[1].strip(): line.split("  ", 1)[0] for line in ended.out.splitlines()
    }
    assert lines["project.seed = 5"] == "--set"
    assert lines["models.trees.params.depth = 4"] == "CAUCE__MODELS__TREES__PARAMS__DEPTH"
    assert lines['project.owner = "data-platform"'] == "base.yaml:1"
    assert lines['project.runs = "./runs"'] == "default"
    assert lines['training_sets.late_arrival.windows.delays.last = ["3h", "1d"]'] == (
        "base.yaml:55"
    )
    assert (ended.code, ended.err) == (0, "")


def test_origin_as_json(cauce: Any) -> None:
    rows = json.loads(cauce("config", "show", "--origin", "--format", "json").out)
    assert {"key": "project.seed", "value": 2013, "origin": "base.yaml:1"} in rows


def test_show_masks_secrets(cauce: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OWNER", "s3cr3t-canary")
    override = ("--set", "project.owner=${env:OWNER}")
    for words in (("show",), ("show", "--origin"), ("show", "--format", "json"), ("freeze",)):
        ended = cauce("config", *words, *override)
        assert ended.code == 0
        assert "s3cr3t-canary" not in ended.out + ended.err
        assert ("${env:OWNER}" if words == ("freeze",) else "***") in ended.out


@pytest.mark.parametrize("project", ["flights", "tests/data/orders/conf/orders"])
def test_a_frozen_project_is_the_same_project(cauce: Any, project: str, tmp_path: Path) -> None:
    ended = cauce("config", "freeze", "--project", project, "--set", "project.seed=99")
    frozen = tmp_path / "frozen.yaml"
    shutil.copytree("conf/flights/quality", tmp_path / "quality")
    frozen.write_text(ended.out, encoding="utf-8")
    loaded = load_project(str(frozen), environ={})
    assert (
        loaded.resolved == load_project(project, overrides=["project.seed=99"], environ={}).resolved
    )
    assert ended.out.startswith(
        f"# {loaded.name} (dev), frozen; config {loaded.config_hash[:12]}\n"
    )


def test_show_as_json_is_the_resolved_project(cauce: Any) -> None:
    shown = json.loads(cauce("config", "show", "--format", "json").out)
    assert shown["project"]["name"] == "flights"
    assert shown["evaluate"]["interval"] == {"level": 0.95, "bootstrap": 1000, "resample": "day"}


def test_mistakes_are_told_by_config_too(cauce: Any) -> None:
    ended = cauce("config", "show", "--set", "project.sed=1")
    assert ended.code == 78
    assert ended.err.startswith("flights: 1 error; nothing was started\n--set  project.sed\n")


def test_schema_is_json_schema_and_accepts_the_projects(cauce: Any) -> None:
    schema = json.loads(cauce("config", "schema").out)
    assert schema == project_schema()
    Draft202012Validator.check_schema(schema)
    validator = Draft202012Validator(schema)
    for path in ("conf/flights/base.yaml", "tests/data/orders/conf/orders/base.yaml"):
        value = parse_yaml(Path(path).read_text(encoding="utf-8"), path).value
        assert [error.message for error in validator.iter_errors(value)] == []


def test_schema_knows_the_parameters_of_each_kind() -> None:
    base = parse_yaml(Path("conf/flights/base.yaml").read_text(encoding="utf-8"), "x").value
    base["models"]["trees"]["params"]["dept"] = 3
    (error,) = Draft202012Validator(project_schema()).iter_errors(base)
    assert "dept" in error.message


def test_every_key_is_described_and_has_a_default_or_is_needed() -> None:
    schema = project_schema()
    for place, key, part, is_needed in properties(schema):
        section = schema["$defs"].get(part.get("$ref", "").rpartition("/")[2], {})
        told = part.get("description") or section.get("description")
        assert told, f"{place}.{key} has no description"
        assert is_needed or "default" in part, f"{place}.{key} has no default"


def properties(schema: Any, place: str = "") -> Iterator[tuple[str, str, dict[str, Any], bool]]:
    if isinstance(schema, list):
        for part in schema:
            yield from properties(part, place)
    if not isinstance(schema, dict) or "if" in schema:
        return
    for key, part in schema.get("properties", {}).items():
        yield place, key, part, key in schema.get("required", [])
    for name, part in schema.items():
        yield from properties(part, f"{place}/{name}")
