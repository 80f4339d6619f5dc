"""Identity of code: a hash over the syntax trees that a module can reach, without comments."""

from __future__ import annotations

import ast
import hashlib
from collections.abc import Collection, Iterator
from functools import cache
from importlib.resources import files

_PACKAGES = ("pipelines", "features")


def code_hash(roots: Collection[str], within: Collection[str] = _PACKAGES) -> str:
    """Hashes the modules reachable from `roots` by import statements.

    Args:
        roots: Dotted names of modules or packages.
        within: Only modules in these packages count and are followed.

    Returns:
        SHA-256 in hexadecimal; comments, docstrings and layout do not count.
    """
    seen: dict[str, str] = {}
    waiting = sorted(roots)
    while waiting:
        name = waiting.pop()
        if name in seen or not any(name == p or name.startswith(f"{p}.") for p in within):
            continue
        read = _read_module(name)
        if read is None:
            continue
        seen[name], imports = read
        waiting += imports
    joined = "\n".join(f"{name} {digest}" for name, digest in sorted(seen.items()))
    return hashlib.sha256(joined.encode()).hexdigest()


@cache
def _read_module(name: str) -> tuple[str, tuple[str, ...]] | None:
    """Hash of one module and the project's modules it imports; None where there is no module."""
    top, *below = name.split(".")
    # Read through the importer: on a cluster the packages are a zip.
    base = files(top).joinpath(*below)
    path = (
        base / "__init__.py"
        if base.is_dir()
        else files(top).joinpath(*below[:-1], f"{below[-1]}.py")
    )
    if not path.is_file():
        return None
    tree = ast.parse(path.read_bytes())
    imports = tuple(sorted(set(_imports(tree))))
    for node in ast.walk(tree):
        body = getattr(node, "body", None)
        if isinstance(body, list):
            # A text that stands alone is documentation.
            node.body = [s for s in body if not _is_text(s)]  # type: ignore[attr-defined]
    return hashlib.sha256(ast.dump(tree).encode()).hexdigest(), imports


def _imports(tree: ast.Module) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names if _is_ours(alias.name))
        elif isinstance(node, ast.ImportFrom) and node.module and _is_ours(node.module):
            yield node.module
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def _is_ours(name: str) -> bool:
    return name.partition(".")[0] in _PACKAGES


def _is_text(statement: ast.stmt) -> bool:
    return isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant)
