"""The project file's JSON Schema, with the parameters of each kind of model."""

from __future__ import annotations

from typing import Any

from pipelines.project.modeling import MODEL_KINDS
from pipelines.project.schema import Project


def project_schema() -> dict[str, Any]:
    """Returns a JSON Schema; each key has a description, and a default if it may be left out."""
    schema = Project.model_json_schema(by_alias=True)
    params = {}
    for kind, section in MODEL_KINDS.items():
        part = section.model_json_schema(by_alias=True)
        part.pop("$defs", None)
        params[kind] = {
            "if": {"properties": {"kind": {"const": kind}}},
            "then": {"properties": {"params": part}},
        }
    model = schema["$defs"]["Model"]
    model["properties"]["kind"]["enum"] = list(MODEL_KINDS)
    model["allOf"] = list(params.values())
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", **schema}
