"""docs/configuration.md tells every key as the schema has it."""

from __future__ import annotations

import importlib.util
from pathlib import Path

REPOSITORY = Path(__file__).parents[2]


def test_the_key_reference_is_up_to_date() -> None:
    tool = REPOSITORY / "tools" / "config_reference.py"
    spec = importlib.util.spec_from_file_location("config_reference", tool)
    assert spec and spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    page = (REPOSITORY / "docs" / "configuration.md").read_text(encoding="utf-8")
    assert page.partition(module.MARK)[2].strip() == module.reference().strip(), (
        "run python tools/config_reference.py"
    )
