"""Owns the tables of what an expression may hold: operators, functions, types and units."""

from __future__ import annotations

from sqlglot import exp

Node = type[exp.Expr]

# Operators: each field is an argument of the node. Parentheses keep the tree's shape.
OPERATORS: dict[Node, str] = {
    exp.Add: "TRY_ADD({this}, {expression})",
    exp.Sub: "TRY_SUBTRACT({this}, {expression})",
    exp.Mul: "TRY_MULTIPLY({this}, {expression})",
    exp.Div: "TRY_DIVIDE({this}, {expression})",
    exp.Mod: "TRY_MOD({this}, {expression})",
    exp.Neg: "TRY_MULTIPLY({this}, -1)",
    exp.EQ: "({this} = {expression})",
    exp.NEQ: "({this} <> {expression})",
    exp.LT: "({this} < {expression})",
    exp.LTE: "({this} <= {expression})",
    exp.GT: "({this} > {expression})",
    exp.GTE: "({this} >= {expression})",
    exp.NullSafeEQ: "({this} <=> {expression})",
    exp.NullSafeNEQ: "(NOT ({this} <=> {expression}))",
    exp.And: "({this} AND {expression})",
    exp.Or: "({this} OR {expression})",
    exp.Not: "(NOT {this})",
    exp.Between: "({this} BETWEEN {low} AND {high})",
    exp.DPipe: "({this} || {expression})",
    exp.Paren: "{this}",
    exp.TsOrDsToDate: "TRY_CAST({this} AS DATE)",
    exp.TimestampDiff: "TIMESTAMPDIFF({unit}, {expression}, {this})",
    exp.TimestampTrunc: "DATE_TRUNC('{unit}', {this})",
}

# Functions: Spark's name, and the node's arguments in Spark's order.
CALLS: dict[Node, tuple[str, tuple[str, ...]]] = {
    exp.Abs: ("ABS", ("this",)),
    exp.Ceil: ("CEIL", ("this",)),
    exp.Coalesce: ("COALESCE", ("this", "expressions")),
    exp.Concat: ("CONCAT", ("expressions",)),
    exp.Day: ("DAY", ("this",)),
    exp.DayOfMonth: ("DAY", ("this",)),
    exp.DayOfWeek: ("DAYOFWEEK", ("this",)),
    exp.Exp: ("EXP", ("this",)),
    exp.Floor: ("FLOOR", ("this",)),
    exp.Greatest: ("GREATEST", ("this", "expressions")),
    exp.Hour: ("HOUR", ("this",)),
    exp.IsNan: ("ISNAN", ("this",)),
    exp.Least: ("LEAST", ("this", "expressions")),
    exp.Length: ("LENGTH", ("this",)),
    exp.Ln: ("LN", ("this",)),
    exp.Log: ("LOG", ("this", "expression")),
    exp.Lower: ("LOWER", ("this",)),
    exp.Minute: ("MINUTE", ("this",)),
    exp.Month: ("MONTH", ("this",)),
    exp.Nullif: ("NULLIF", ("this", "expression")),
    exp.Pow: ("POWER", ("this", "expression")),
    exp.Replace: ("REPLACE", ("this", "expression", "replacement")),
    exp.Round: ("ROUND", ("this", "decimals")),
    exp.Second: ("SECOND", ("this",)),
    exp.Sqrt: ("SQRT", ("this",)),
    exp.Substring: ("SUBSTRING", ("this", "start", "length")),
    exp.Trim: ("TRIM", ("this",)),
    exp.Upper: ("UPPER", ("this",)),
    exp.Year: ("YEAR", ("this",)),
}

# How the allowed functions are written, for messages.
# fmt: off
FUNCTIONS = (
    "abs", "case", "cast", "ceil", "coalesce", "concat", "date_trunc", "day", "dayofweek",
    "exp", "floor", "greatest", "hour", "if", "ifnull", "isnan", "least", "length", "ln", "log",
    "log10", "log2", "lower", "minute", "month", "nullif", "pow", "replace", "round", "second",
    "sqrt", "substring", "timestampadd", "timestampdiff", "to_date", "to_timestamp", "trim",
    "try_cast", "unix_timestamp", "upper", "weekday", "year",
)
# fmt: on

TYPES = {
    exp.DataType.Type.TEXT: "STRING",
    exp.DataType.Type.BOOLEAN: "BOOLEAN",
    exp.DataType.Type.INT: "INT",
    exp.DataType.Type.BIGINT: "BIGINT",
    exp.DataType.Type.DOUBLE: "DOUBLE",
    exp.DataType.Type.DATE: "DATE",
    exp.DataType.Type.TIMESTAMP: "TIMESTAMP",
    exp.DataType.Type.TIMESTAMPTZ: "TIMESTAMP",
    exp.DataType.Type.DECIMAL: "DECIMAL",
}
TYPE_WORDS = "string, boolean, int, bigint, double, date, timestamp, decimal(p,s)"

# Units, and how many of them make ten thousand years: a longer shift gives null, not an overflow.
UNITS = {
    "SECOND": 315_360_000_000,
    "MINUTE": 5_256_000_000,
    "HOUR": 87_600_000,
    "DAY": 3_650_000,
    "WEEK": 520_000,
    "MONTH": 120_000,
    "QUARTER": 40_000,
    "YEAR": 10_000,
}

# What sqlglot notes about a node without changing what it means.
NOTES = {"safe", "zero_start", "ignore_nulls", "coalesce", "is_nvl", "is_null", "nested"}

REFUSED: tuple[tuple[tuple[Node, ...], str], ...] = (
    ((exp.Query, exp.Subquery, exp.Exists), "a subquery"),
    ((exp.Block, exp.Command), "more than one expression"),
    ((exp.Window,), "a window function"),
    ((exp.AggFunc,), "an aggregate"),
    ((exp.Lambda,), "a lambda"),
    ((exp.Star,), "a star"),
    ((exp.Placeholder, exp.Parameter), "a parameter"),
)
