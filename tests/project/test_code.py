"""The identity of code: what it does counts, how it is written down does not."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from pipelines.project import code
from pipelines.project.code import code_hash

TREE = {
    "__init__.py": "",
    "main.py": "from features_x.sub import helper\n\ndef run(a):\n    return helper.LIMIT + a\n",
    "sub/__init__.py": "'''Docs.'''\n",
    "sub/helper.py": "import math\n\nLIMIT = 3\n",
    "other.py": "UNSEEN = 1\n",
}


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[..., str]]:
    """Writes the package `features_x` with some files changed and gives the hash of `main`."""
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setattr(code, "_PACKAGES", ("features_x",))

    def write(**changed: str) -> str:
        for name, text in {**TREE, **changed}.items():
            path = tmp_path / "features_x" / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
        code._read_module.cache_clear()
        return code_hash(["features_x.main"], ["features_x"])

    yield write
    code._read_module.cache_clear()
    for name in [name for name in sys.modules if name.startswith("features_x")]:
        del sys.modules[name]


@pytest.mark.parametrize(
    "changed",
    [
        {"sub/helper.py": "# Why three\nimport math\nLIMIT = (3)  # really\n"},
        {"sub/helper.py": "'''A module.'''\nimport math\n\n\nLIMIT = 3\n"},
        {"main.py": "'''Docs.'''\n" + TREE["main.py"].replace("a):", "a):\n    '''Adds.'''")},
        {"other.py": "UNSEEN = 2\n"},
    ],
    ids=["comment", "layout", "docstring", "unreachable"],
)
def test_does_not_count(package: Callable[..., str], changed: dict[str, str]) -> None:
    assert package() == package(**changed)


@pytest.mark.parametrize(
    "changed",
    [
        {"sub/helper.py": "import math\n\nLIMIT = 4\n"},
        {"sub/__init__.py": "X = 1\n"},
        {"main.py": TREE["main.py"].replace("+", "-")},
        {"main.py": TREE["main.py"].replace("(a)", "(a=1)")},
        {"main.py": TREE["main.py"] + "import features_x.other\n"},
        {"main.py": TREE["main.py"] + "\ndef later():\n    from features_x import other\n"},
    ],
    ids=["constant", "package", "operator", "default", "import", "late import"],
)
def test_counts(package: Callable[..., str], changed: dict[str, str]) -> None:
    assert package() != package(**changed)


def test_only_what_is_asked_for_is_followed(package: Callable[..., str]) -> None:
    package()
    alone = code_hash(["features_x.main"], ["features_x.main"])
    package(**{"sub/helper.py": "LIMIT = 4\n"})
    assert code_hash(["features_x.main"], ["features_x.main"]) == alone


def test_a_step_reaches_its_libraries_and_not_its_neighbours() -> None:
    score = code_hash(["pipelines.steps.score"])
    assert score == code_hash(["pipelines.steps.score", "pipelines.steps.base"])
    assert score != code_hash(["pipelines.steps.score", "pipelines.steps.ingest"])
