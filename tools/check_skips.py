"""Fails when a pytest report holds a skipped or expected failure, or no test at all.

Tests marked `gpu` never reach the report of `make test`: they are deselected.
"""

from __future__ import annotations

import sys
from pathlib import Path
from xml.etree import ElementTree


def find_skips(report: Path) -> list[str]:
    """Returns one line for each reason to fail; an empty list means that every test ran.

    Args:
        report: A JUnit XML file that pytest wrote.
    """
    cases = list(ElementTree.parse(report).iter("testcase"))
    if not cases:
        return [f"{report}: no test ran"]
    return [
        f"{case.get('classname')}::{case.get('name')} {skipped.get('type')}: "
        f"{skipped.get('message')}"
        for case in cases
        for skipped in case.iter("skipped")
    ]


def main(report: str) -> int:
    """Prints the reasons and returns the exit code."""
    if not Path(report).is_file():
        print(f"{report} is missing: pytest did not get as far as its report")
        return 1
    skips = find_skips(Path(report))
    for line in skips:
        print(f"not run: {line}")
    return 1 if skips else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
