"""Writes the key reference of docs/configuration.md from the project file's JSON Schema."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from pipelines.project.json_schema import project_schema
from pipelines.project.modeling import MODEL_KINDS

PAGE = Path(__file__).resolve().parents[1] / "docs" / "configuration.md"
MARK = "<!-- Below: written by tools/config_reference.py -->\n"
LIMITS = {"minimum": "≥", "exclusiveMinimum": ">", "maximum": "≤", "exclusiveMaximum": "<"}


def reference() -> str:
    """Returns a table for each section: key, value, default, meaning."""
    schema = project_schema()
    sections = schema["$defs"]
    lines = [*_section("The file", schema, sections)]
    for name in dict.fromkeys(_names(schema["properties"], sections)):
        lines += _section(name, sections[name], sections)
    for section in dict.fromkeys(MODEL_KINDS.values()):
        kinds = ", ".join(f"`{kind}`" for kind, one in MODEL_KINDS.items() if one is section)
        lines += _section(f"`params` of {kinds}", section.model_json_schema(), sections)
    return "\n".join(lines)


def _section(title: str, section: dict[str, Any], sections: dict[str, Any]) -> Iterator[str]:
    yield f"### {title}\n"
    yield f"{section['description']}\n"
    if not section["properties"]:
        return
    yield "| key | value | default | meaning |\n|---|---|---|---|"
    for key, part in section["properties"].items():
        default = "**needed**" if key in section.get("required", []) else _default(part)
        meaning = part.get("description") or sections[_target(part)]["description"]
        yield f"| `{key}` | {_value(part)} | {default} | {meaning} |"
    yield ""


def _names(part: Any, sections: dict[str, Any]) -> Iterator[str]:
    """Sections in the order in which a reader meets them."""
    if isinstance(part, dict):
        if "$ref" in part:
            yield _target(part)
            yield from _names(sections[_target(part)], sections)
        for child in part.values():
            yield from _names(child, sections)
    elif isinstance(part, list):
        for child in part:
            yield from _names(child, sections)


def _target(part: dict[str, Any]) -> str:
    return str(part["$ref"]).rpartition("/")[2]


def _default(part: dict[str, Any]) -> str:
    default = part.get("default")
    if default is None:
        return "–"
    return "its own" if isinstance(default, dict) and default else f"`{json.dumps(default)}`"


def _value(part: dict[str, Any]) -> str:
    if "$ref" in part:
        return f"[{_target(part)}](#{_target(part).lower()})"
    choices = part.get("anyOf") or part.get("oneOf")
    if choices:
        words = [_value(one) for one in choices if one.get("type") != "null"]
        return "share" if "share" in words else " or ".join(dict.fromkeys(words))
    if "const" in part or "enum" in part:
        return ", ".join(f"`{one}`" for one in part.get("enum", [part.get("const")]))
    return _simple(part)


def _simple(part: dict[str, Any]) -> str:
    kind = part.get("type")
    if kind == "array":
        items = part.get("prefixItems")
        return f"{len(items)} numbers" if items else f"list of {_value(part['items'])}"
    if kind == "object":
        values = [*part.get("patternProperties", {}).values(), part.get("additionalProperties")]
        return f"name → {_value(values[0])}" if isinstance(values[0], dict) else "map"
    if kind == "string":
        return _text(part)
    limits = ", ".join(f"{sign} {part[key]}" for key, sign in LIMITS.items() if key in part)
    return f"{'true, false' if kind == 'boolean' else kind} {limits}".rstrip()


def _text(part: dict[str, Any]) -> str:
    pattern = part.get("pattern", "")
    known = {"(s|min|h|d|w)": "duration", "%": "share", "decimal": "type", "{0,62}": "name"}
    found = [word for text, word in known.items() if text in pattern]
    return found[0] if found else "date" if part.get("format") == "date" else "text"


if __name__ == "__main__":
    text = PAGE.read_text(encoding="utf-8").partition(MARK)[0]
    PAGE.write_text(f"{text}{MARK}\n{reference()}", encoding="utf-8")
