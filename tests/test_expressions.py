"""Expressions of a project file: what they give in Spark, and what is refused before Spark."""

from __future__ import annotations

import math
from datetime import date, datetime
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pipelines.errors import ConfigError
from pipelines.expressions import check_expression, columns_of, quote, to_column
from pipelines.expressions.grammar import CALLS, FUNCTIONS, UNITS

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

COLUMNS = ("a", "b", "d", "x", "y", "z", "s", "n", "flag", "day", "ts", "ts2", "minute", "delay")

HOSTILE = [
    ("java_method('java.lang.Runtime', 'getRuntime')", "java_method"),
    ("reflect('java.lang.System', 'exit', 1)", "reflect"),
    ("try_reflect('java.lang.System', 'getenv', 'HOME')", "try_reflect"),
    ("JaVa_MeThOd('a', 'b')", "JaVa_MeThOd"),
    ("`java_method`('a', 'b')", "java_method"),
    ("ja/**/va_method('a', 'b')", "comment"),
    ("a + (select max(a) from t)", "subquery"),
    ("exists(select 1 from text.`/etc/passwd`)", "subquery"),
    ("a in (select value from text.`/etc/passwd`)", "subquery"),
    ("(select 1 from text.`/etc/passwd`)", "subquery"),
    ("a = 1; drop table clean.flights", "`;`"),
    ("a;", "`;`"),
    ("a -- b", "comment"),
    ("a /* b */", "comment"),
    ("/*+ BROADCAST(t) */ a", "comment"),
    ("a` > 1", "not one SQL expression"),
    ("`a\\`` > 1", "backslash"),
    ("'\\'; drop table t'", "backslash"),
    ("a as b", "not one SQL expression"),
    ("a, b", "not one SQL expression"),
    ("select a", "not one SQL expression"),
    ("drop table t", "not one SQL expression"),
    ("create function f as 'x' using jar 'http://h/x.jar'", "not one SQL expression"),
    ("sum(a) over (order by b)", "window"),
    ("sum(a)", "aggregate"),
    ("count(*)", "aggregate"),
    ("percentile_approx(a, 0.5)", "aggregate"),
    ("*", "star"),
    ("t.*", "star"),
    ("struct(*)", "struct"),
    ("t.a", "unknown column `t.a`"),
    ("spark_catalog.default.t.a", "unknown column"),
    ("rand()", "rand"),
    ("randn(1)", "randn"),
    ("uuid()", "uuid"),
    ("shuffle(a)", "shuffle"),
    ("current_timestamp()", "current_timestamp"),
    ("current_date", "current_date"),
    ("now()", "now"),
    ("unix_timestamp()", "unix_timestamp"),
    ("current_user()", "current_user"),
    ("input_file_name()", "input_file_name"),
    ("monotonically_increasing_id()", "monotonically_increasing_id"),
    ("spark_partition_id()", "spark_partition_id"),
    ("transform(a, x -> x + 1)", "transform"),
    ("filter(a, x -> true)", "filter"),
    ("explode(a)", "explode"),
    ("from_json(s, 'a int')", "from_json"),
    ("assert_true(false)", "assert_true"),
    ("raise_error('x')", "raise_error"),
    ("aes_decrypt(s, 'k')", "aes_decrypt"),
    ("space(2000000000)", "space"),
    ("repeat(s, 2000000000)", "repeat"),
    ("sequence(1, 2000000000)", "sequence"),
    ("s rlike '(a+)+$'", "regexp_like"),
    ("session_window(ts, '1 day')", "session_window"),
    ("a[0]", "bracket"),
    ("s:a.b", "not one SQL expression"),
    (":a", "parameter"),
    ("${env:HOME}", "parameter"),
    ("{{ a }}", "parameter"),
    ("?", "parameter"),
    ("x'ff'", "hexstring"),
    ("cast(a as struct<x: int>)", "casts to"),
    ("cast(a as binary)", "casts to"),
    ("cast(a as decimal(39, 2))", "casts to"),
    ("interval 2 hours", "interval"),
    ("1e400", "cannot hold"),
    ("a in ()", "list is empty"),
    ("a in (b)", "more than plain values"),
    ("a is b", "(is)"),
    ("'it''s'", "side by side"),
    ("", "not one SQL expression"),
    ("'abc", "not one SQL expression"),
    ("a +", "not one SQL expression"),
    ("(" * 500 + "a" + ")" * 500, "levels deep"),
    ("a" + "+a" * 900, "levels deep"),
    ("a" * 2_001, "2001 characters; allowed: 2000"),
]


@pytest.mark.parametrize(("text", "found"), HOSTILE)
def test_what_is_not_allowed_is_refused_by_name(text: str, found: str) -> None:
    with pytest.raises(ConfigError, match="the expression `") as caught:
        check_expression(text, COLUMNS)
    assert found in caught.value.message


def test_messages_name_place_and_nearest_word() -> None:
    with pytest.raises(ConfigError) as caught:
        check_expression("a + sqr(b)", COLUMNS)
    assert caught.value.message == (
        "the expression `a + sqr(b)` uses `sqr` at character 5, which is no allowed function. "
        "Did you mean `sqrt`?"
    )
    assert caught.value.remedy is not None
    assert "sqrt" in caught.value.remedy
    with pytest.raises(ConfigError) as caught:
        check_expression("dely > 15", COLUMNS)
    assert caught.value.message == (
        "the expression `dely > 15` reads the unknown column `dely` at character 1. "
        "Did you mean `delay`?"
    )
    with pytest.raises(ConfigError, match=r"unit `MINUTES`; allowed: .*Did you mean `MINUTE`\?"):
        check_expression("timestampadd(MINUTES, a, ts)", COLUMNS)
    with pytest.raises(ConfigError, match="whose position is not allowed"):
        check_expression("trim(both 'x' from s)", COLUMNS)
    with pytest.raises(ConfigError, match="decimals that are not a plain number"):
        check_expression("round(a, b)", COLUMNS)


def test_names_are_taken_literally() -> None:
    odd = ["a.b", "sp ace", "é", "select", "ti`ck", "a--b", "x;y", "/*z*/"]
    for name in odd:
        check_expression(f"{quote(name)} > 1", odd)
        assert columns_of(f"{quote(name)} > 1") == {name}
    check_expression("a.b > 1", ["a.b"])
    check_expression("é > 1", ["é"])
    check_expression("'a; b -- c' = `é`", ["é"])


def test_columns_of_tells_units_from_columns() -> None:
    assert columns_of("timestampadd(MINUTE, minute, time_hour)") == {"minute", "time_hour"}
    assert columns_of("arr_delay >= 15") == {"arr_delay"}
    assert columns_of("1 + 1") == frozenset()


@settings(max_examples=300, deadline=None)
@given(st.text(alphabet="a(),+-*/'`\"; .<>=[]{}$#@!|x0é\n\t", max_size=40))
def test_any_text_is_accepted_or_refused_but_never_crashes(text: str) -> None:
    try:
        check_expression(text, COLUMNS)
    except ConfigError as error:
        assert error.exit_code == 78


ROW = {
    "a": 7,
    "b": 2,
    "d": None,
    "x": 2.25,
    "y": -1.5,
    "z": math.nan,
    "s": " Ab'c ",
    "n": "12",
    "flag": True,
    "day": date(2013, 3, 10),
    "ts": datetime(2013, 3, 10, 5, 42, 7),
    "ts2": datetime(2013, 3, 11, 6, 0, 0),
    "minute": 59,
    "delay": 30.9,
}
TYPES = (
    "a int, b int, d double, x double, y double, z double, s string, n string, flag boolean, "
    "day date, ts timestamp, ts2 timestamp, minute int, delay double"
)

VALUES: list[tuple[str, Any]] = [
    ("a + b", 9),
    ("a - b", 5),
    ("a * b", 14),
    ("a / b", 3.5),
    ("a % 4", 3),
    ("-a", -7),
    ("-3", -3),
    ("a + b * -x / 2", 4.75),
    ("(a + b) * 2", 18),
    ("a - (b - 1)", 6),
    ("a = 7 and b <> 3 and x < 3 and x <= 2.25 and a > 1 and a >= 7", True),
    ("a != 7 or not flag", False),
    ("d <=> null", True),
    ("a is distinct from b", True),
    ("d is null and a is not null", True),
    ("flag is true", True),
    ("d > 1", None),
    ("d > 1 or true", True),
    ("a between 7 and 8", True),
    ("a not between 7 and 8", False),
    ("a in (1, -2, 7)", True),
    ("a not in (1, 2)", True),
    ("s in ('x', \" Ab'c \")", True),
    ("day in (date '2013-03-10')", True),
    ("case when a > 9 then 'big' when a > 5 then 'mid' else 'small' end", "mid"),
    ("case a when 1 then 'one' end", None),
    ("if(a > 5, 1, 0)", 1),
    ("if(a > 9, 1)", None),
    ("coalesce(d, x, 0)", 2.25),
    ("ifnull(d, 1.5)", 1.5),
    ("nullif(b, 2)", None),
    ("cast(n as int)", 12),
    ("cast(s as int)", None),
    ("cast(z as int)", None),
    ("cast(1e300 as bigint)", None),
    ("try_cast(n as double)", 12.0),
    ("cast(x as string)", "2.25"),
    ("cast(a as long) + 2147483647", 2147483654),
    ("abs(y)", 1.5),
    ("round(x, 1)", 2.3),
    ("round(x)", 2.0),
    ("floor(y)", -2),
    ("ceil(y)", -1),
    ("least(a, b, x)", 2.0),
    ("greatest(a, b)", 7),
    ("log(2, 8)", 3.0),
    ("log(exp(1))", 1.0),
    ("ln(0)", None),
    ("log10(100)", 2.0),
    ("log2(8)", 3.0),
    ("sqrt(16)", 4.0),
    ("pow(a, b)", 49.0),
    ("isnan(z)", True),
    ("upper(trim(s))", "AB'C"),
    ("lower(s)", " ab'c "),
    ("length(s)", 6),
    ("substring(s, 2, 2)", "Ab"),
    ("concat(n, '-', n)", "12-12"),
    ('n || "\'"', "12'"),
    ("concat(n, cast(d as string))", None),
    ("replace(n, '1', 'x')", "x2"),
    ("timestampadd(MINUTE, minute, ts)", datetime(2013, 3, 10, 6, 41, 7)),
    ("timestampadd(MINUTE, delay, ts)", datetime(2013, 3, 10, 6, 12, 7)),
    ("timestampadd(HOUR, -2, ts)", datetime(2013, 3, 10, 3, 42, 7)),
    ("timestampadd(MINUTE, d, ts)", None),
    ("timestampadd(MINUTE, z, ts)", None),
    ("timestampadd(DAY, 1e15, ts)", None),
    ("timestampadd(MONTH, 1, ts)", datetime(2013, 4, 10, 5, 42, 7)),
    ("timestampdiff(MINUTE, ts, ts2)", 1457),
    ("timestampdiff(DAY, ts2, ts)", -1),
    ("date_trunc('hour', ts)", datetime(2013, 3, 10, 5, 0, 0)),
    ("to_date(ts)", date(2013, 3, 10)),
    ("to_date(s)", None),
    ("to_timestamp('2013-01-01 00:00:01')", datetime(2013, 1, 1, 0, 0, 1)),
    ("ts > timestamp '2013-03-10 05:00:00' and day >= date '2013-03-10'", True),
    ("unix_timestamp(ts2) - unix_timestamp(ts)", 87473),
    ("hour(ts) * 100 + minute(ts) + second(ts)", 549),
    ("year(ts) * 10000 + month(ts) * 100 + day(ts)", 20130310),
    ("dayofweek(day)", 1),
    ("weekday(day)", 6),
    ("a / 0", None),
    ("a % 0", None),
    ("a + 2147483647", None),
    ("a * 2147483647", None),
    ("x / 0", None),
]


@pytest.mark.spark
def test_values_in_spark(spark: SparkSession) -> None:
    assert spark.conf.get("spark.sql.ansi.enabled") == "true"
    rows = spark.createDataFrame([tuple(ROW.values())], TYPES)
    columns = [to_column(text, COLUMNS).alias(f"c{i}") for i, (text, _) in enumerate(VALUES)]
    found = list(rows.select(columns).first() or ())
    wrong = [
        (text, got, due)
        for (text, due), got in zip(VALUES, found, strict=True)
        if (float(got) if isinstance(due, float) and got is not None else got) != due
        and not (isinstance(due, float) and got is not None and math.isclose(got, due))
    ]
    assert wrong == []


@pytest.mark.spark
def test_odd_names_in_spark(spark: SparkSession) -> None:
    odd = ["a.b", "sp ace", "é", "select", "ti`ck"]
    rows = spark.createDataFrame([(1, 2, 3, 4, 5)], [*odd])
    total = to_column(" + ".join(quote(name) for name in odd), odd)
    assert rows.select(total).first() == (15,)


def test_every_allowed_function_has_a_value_above() -> None:
    text = " ".join(text for text, _ in VALUES)
    missing = [name for name in FUNCTIONS if f"{name}(" not in text and f"{name} " not in text]
    assert missing == []
    assert {name.lower() for name, _ in CALLS.values()} - {*FUNCTIONS, "power"} == set()
    assert set(UNITS) >= {"SECOND", "MINUTE", "HOUR", "DAY"}
