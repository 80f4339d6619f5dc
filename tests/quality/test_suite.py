"""Suites are checked when a project is loaded: without Spark, without Great Expectations."""

from __future__ import annotations

import inspect
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from pipelines.errors import ConfigError
from pipelines.quality.suite import catalogue, check_suite, read_suite

FLIGHTS = Path(__file__).parents[2] / "conf" / "flights" / "quality" / "flights.json"
COLUMNS = ("a", "b", "é", "a.b")


def write(folder: Path, *expectations: dict[str, Any]) -> Path:
    path = folder / "suite.json"
    path.write_text(json.dumps({"name": "s", "expectations": [*expectations]}, indent=1), "utf-8")
    return path


def mistakes(folder: Path, *expectations: dict[str, Any]) -> list[str]:
    return [error.message for error in check_suite(write(folder, *expectations), COLUMNS)]


def one(kind: str, **kwargs: Any) -> dict[str, Any]:
    return {"type": kind, "kwargs": kwargs, "meta": {"name": "r"}}


def test_the_suite_of_flights_is_good() -> None:
    columns = ("time_hour", "carrier", "flight", "origin", "dest", "tailnum", "dep_delay")
    assert check_suite(FLIGHTS, (*columns, "arr_delay")) == []
    assert [error.message for error in check_suite(FLIGHTS, columns)] == [
        "arrivals_known: the table has no column `arr_delay`. Did you mean `dep_delay`?",
        "arr_delay_range: the table has no column `arr_delay`. Did you mean `dep_delay`?",
    ]


def test_a_bad_regex_is_named_with_its_line(tmp_path: Path) -> None:
    path = write(
        tmp_path,
        one("expect_column_values_to_not_be_null", column="a"),
        {**one("expect_column_values_to_match_regex", column="a", regex="("), "meta": {}},
    )
    (error,) = check_suite(path, COLUMNS)
    assert error.message == (
        "a_match_regex: `(` is not a regular expression: "
        "missing ), unterminated subpattern at position 0"
    )
    line = int(str(error.where).rsplit(":", 1)[1])
    assert path.read_text("utf-8").splitlines()[line - 1].strip() == "{"
    assert "match_regex" in path.read_text("utf-8").splitlines()[line]


@pytest.mark.parametrize(
    ("expectation", "message"),
    [
        (
            one("expect_column_values_to_be_betwen", column="a"),
            "r: GX has no core expectation `expect_column_values_to_be_betwen`. "
            "Did you mean `expect_column_values_to_be_between`?",
        ),
        (
            one("expect_column_values_to_be_between", column="a", min_valeu=1),
            "r: unknown argument `min_valeu`. Did you mean `min_value`?",
        ),
        (one("expect_column_values_to_be_in_set", column="a"), "r: needs the argument `value_set`"),
        (
            one("expect_column_values_to_not_be_null", column="a", mostly=97),
            "r: mostly = 97; needs a number from 0 to 1",
        ),
        (
            one("expect_compound_columns_to_be_unique", column_list=["a", "c"]),
            "r: the table has no column `c`",
        ),
        (
            one("expect_column_values_to_not_be_null", column=1),
            "r: columns are named by text",
        ),
        (
            one("unexpected_rows_expectation", unexpected_rows_query="select 1"),
            "r: `unexpected_rows_expectation` runs SQL text; use a row rule with an expression",
        ),
        (
            one("expect_column_values_to_match_like_pattern", column="a", like_pattern="x%"),
            "r: `expect_column_values_to_match_like_pattern` does not run on Spark in GX; "
            "use expect_column_values_to_match_regex",
        ),
        (
            one("expect_column_values_to_not_be_null", column="a", row_condition="b > 1"),
            "r: row_condition needs an expression as text and condition_parser: spark",
        ),
        (
            one(
                "expect_column_values_to_not_be_null",
                column="a",
                row_condition="java_method('a', 'b')",
                condition_parser="spark",
            ),
            "r: row_condition: the expression `java_method('a', 'b')` uses `java_method` at "
            "character 1, which is no allowed function",
        ),
    ],
)
def test_mistakes_are_named(tmp_path: Path, expectation: dict[str, Any], message: str) -> None:
    assert mistakes(tmp_path, expectation) == [message]


def test_names_must_differ(tmp_path: Path) -> None:
    rule = one("expect_column_values_to_not_be_null", column="a.b")
    assert mistakes(tmp_path, rule, rule) == [
        "r: the name `r` is taken; give it another `meta.name`"
    ]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{", "not JSON: Expecting property name"),
        ('{"a": 1, "a": 2}', "the key `a` stands twice"),
        ("[]", "needs a non-empty list `expectations`"),
        ('{"expectations": []}', "needs a non-empty list `expectations`"),
        (
            '{"expectations": [{"expectation_type": "x"}]}',
            "needs a `type`, as GX 1.x writes it",
        ),
        ('{"expectations": [{"type": "x", "kwargs": []}]}', "`kwargs` and `meta` are maps"),
        (
            '{"expectations": [{"type": "x", "severity": "high"}]}',
            "unknown severity `high`; allowed: critical, warning, info",
        ),
        ("[" * 100_000, "not JSON"),
    ],
)
def test_files_that_are_no_suite(tmp_path: Path, text: str, message: str) -> None:
    path = tmp_path / "bad.json"
    path.write_text(text, "utf-8")
    (error,) = check_suite(path)
    assert message in error.message
    assert str(error.where).startswith(str(path))


def test_a_missing_file(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="cannot read the suite: No such file"):
        read_suite(tmp_path / "none.json")
    (error,) = check_suite(tmp_path / "none.json")
    assert error.where == str(tmp_path / "none.json")


def test_severity_of_gx(tmp_path: Path) -> None:
    rule = one("expect_column_values_to_not_be_null", column="a")
    suite = [{**rule, "severity": word} for word in ("critical", "warning", "info")]
    found = read_suite(write(tmp_path, *suite, rule))
    assert [item.severity for item in found] == ["fail", "warn", "warn", None]


def test_neither_gx_nor_spark_is_imported() -> None:
    code = (
        "import sys; from pathlib import Path; from pipelines.quality import check_suite; "
        f"assert check_suite(Path({str(FLIGHTS)!r})) == []; "
        "assert not {'great_expectations', 'pyspark', 'pandas'} & set(sys.modules)"
    )
    subprocess.run([sys.executable, "-c", code], check=True, cwd=FLIGHTS.parents[3])


def test_the_catalogue_is_that_of_the_installed_gx() -> None:
    from great_expectations.expectations import core
    from great_expectations.expectations.expectation import Expectation
    from great_expectations.util import camel_to_snake

    shared = {"id", "meta", "notes", "result_format", "description", "catch_exceptions"}
    shared |= {"rendered_content", "severity", "windows", "batch_id", "library_metadata"}
    installed = {}
    for name, kind in inspect.getmembers(core, inspect.isclass):
        if issubclass(kind, Expectation):
            fields = {key: f for key, f in kind.__fields__.items() if key not in shared}
            installed[camel_to_snake(name)] = {
                "required": sorted(key for key, field in fields.items() if field.required),
                "optional": sorted(key for key, field in fields.items() if not field.required),
            }
    assert catalogue() == installed
