"""YAML 1.2, safe, with the line of every value and of every mistake."""

from __future__ import annotations

import pytest

from pipelines.errors import ConfigError
from pipelines.project.yaml import parse_yaml


def test_values_are_plain_and_of_yaml_1_2() -> None:
    text = "a: yes\nb: 0o17\nc: 2013-09-01\nd: 1.5e3\ne: null\nf: [1, true, 'x']\n1: 017\n"
    assert parse_yaml(text, "f").value == {
        "a": "yes",
        "b": 15,
        "c": "2013-09-01",
        "d": 1500.0,
        "e": None,
        "f": [1, True, "x"],
        "1": 17,
    }


def test_an_empty_document_is_none() -> None:
    assert parse_yaml("# nothing\n", "f").value is None


def test_lines_of_keys_and_elements() -> None:
    lines = parse_yaml("a:\n  b: 1\nc:\n  - x\n  - {d:\n     e}\n", "f").lines
    assert lines[("a",)] == 1
    assert lines[("a", "b")] == 2
    assert lines[("c", "1")] == 5
    assert lines[("c", "1", "d")] == 5


def test_a_few_aliases_are_fine() -> None:
    assert parse_yaml("a: &x {k: [1]}\nb: *x\nc: *x\n", "f").value == {
        "a": {"k": [1]},
        "b": {"k": [1]},
        "c": {"k": [1]},
    }


BOMB = "a: &a [x, x]\n" + "".join(
    f"{name}: &{name} [{', '.join([f'*{before}'] * 9)}]\n"
    for before, name in zip("abcdefgh", "bcdefghi", strict=True)
)


@pytest.mark.parametrize(
    ("text", "line", "message"),
    [
        ("a: 1\nb:\n  c: 1\n  c: 2\n", 4, "the key `c` is given twice, first in line 3"),
        ("a: !!python/object:os.system x\n", 1, "the tag !!python/object:os.system is not allowed"),
        ("a: !!python/object/apply:os.system [x]\n", 1, "!!python/object/apply:os.system"),
        ("a: !secret x\n", 1, "the tag !secret is not allowed; only plain values are"),
        ("a: !!binary aGk=\n", 1, "the tag !!binary is not allowed"),
        ("a: !!int ten\n", 1, "`ten` does not fit its tag"),
        (BOMB, 3, "its aliases repeat more than 10,000 values"),
        (f"a: &x [{'1, ' * 5_001}]\nb: [*x, *x]\n", 1, "repeat more than 10,000 values"),
        ("a: *x\n", 1, "broken YAML: found undefined alias 'x'"),
        ("x: &x {a: 1}\nb:\n  <<: *x\n", 3, "merge keys (<<) are not YAML 1.2"),
        ("a: [1\nb: 2\n", 2, "broken YAML: while parsing a flow sequence"),
        ("a:\n\tb: 1\n", 2, "cannot start any token"),
        ("a: b: c\n", 1, "broken YAML: mapping values are not allowed here"),
        ("a: 1\n---\nb: 2\n", 2, "broken YAML: expected a single document"),
        ("a: 1\nb: \x01\n", 2, "the character U+0001 is not allowed"),
        ("? [a]\n: 1\n", 1, "a key must be a text"),
        ("null: 1\n", 1, "a key must be a text"),
        ("a: 1\nb: .inf\n", 2, ".inf is not a finite number"),
        ("a: .nan\n", 1, ".nan is not a finite number"),
        ("%YAML 1.1\n---\na: yes\n", 1, "is not YAML 1.2"),
    ],
)
def test_refused_with_its_line(text: str, line: int, message: str) -> None:
    with pytest.raises(ConfigError) as caught:
        parse_yaml(text, "conf/x/base.yaml")
    assert message in caught.value.message
    assert caught.value.where == f"conf/x/base.yaml:{line}"


@pytest.mark.parametrize("text", ["[" * 5_000, "a: &x [*x]", "a: &x {b: *x}"])
def test_endless_nesting_is_an_error_not_a_crash(text: str) -> None:
    with pytest.raises(ConfigError, match="is nested too deeply"):
        parse_yaml(text, "f")
