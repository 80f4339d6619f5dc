"""Owns the walk from text to the SQL that Spark sees: a tree, written anew node by node."""

from __future__ import annotations

import difflib
import math
import re
from collections.abc import Callable, Collection, Iterable
from string import Formatter

import sqlglot
from sqlglot import exp
from sqlglot.errors import SqlglotError

from pipelines.errors import ConfigError
from pipelines.expressions.grammar import (
    CALLS,
    FUNCTIONS,
    NOTES,
    OPERATORS,
    REFUSED,
    TYPE_WORDS,
    TYPES,
    UNITS,
    Node,
)

MAX_CHARS = 2_000
MAX_DEPTH = 100


def quote(column: str) -> str:
    """A column's name in back-ticks, so that `a.b`, `sp ace` or a back-tick is taken literally."""
    return "`" + column.replace("`", "``") + "`"


class Rebuild:
    """Walks one tree and writes its SQL; refuses every node and argument it has no rule for."""

    def __init__(self, text: str, columns: Collection[str] | None):
        self.text = text
        self.columns = columns
        self.read: set[str] = set()
        self.depth = 0
        self.special: dict[Node, Callable[[exp.Expr], str]] = {
            exp.Column: self._column,
            exp.Literal: self._literal,
            exp.Boolean: lambda node: "TRUE" if node.this else "FALSE",
            exp.Null: lambda node: "NULL",
            exp.Var: self._unit,
            exp.Is: self._is,
            exp.In: self._in,
            exp.If: self._if,
            exp.Case: self._case,
            exp.Cast: self._cast,
            exp.TryCast: self._cast,
            exp.TimestampAdd: self._timestampadd,
            exp.StrToUnix: self._unix_timestamp,
            exp.Anonymous: self._weekday,
        }

    def sql(self) -> str:
        """The SQL of the whole text."""
        try:
            return self._sql(self._parse())
        except RecursionError:
            raise self._error(f"is nested more than {MAX_DEPTH} levels deep") from None

    # ------------------------------------------------------------ reading

    def _parse(self) -> exp.Expr:
        if len(self.text) > MAX_CHARS:
            raise self._error(f"has {len(self.text)} characters; allowed: {MAX_CHARS}")
        if "\\" in self.text:
            raise self._error("has a backslash; texts and names are written without escapes")
        try:
            tokens = sqlglot.tokenize(self.text, dialect="spark")
            for token in tokens:
                if token.comments:
                    raise self._error("has a comment; write it as a YAML comment")
                if token.token_type.name == "SEMICOLON":
                    raise self._error(f"has a `;`{_at(token.start)}; one expression is allowed")
            return sqlglot.parse_one(self.text, dialect="spark", into=exp.Condition)
        except SqlglotError as error:
            details = getattr(error, "errors", None) or [{}]
            line, col = details[0].get("line"), details[0].get("col")
            place = f" near line {line}, column {col}" if line else ""
            raise self._error(f"is not one SQL expression{place}") from None

    def _error(self, what: str, remedy: str | None = None) -> ConfigError:
        text = self.text if len(self.text) <= 80 else self.text[:77] + "..."  # noqa: PLR2004
        return ConfigError(f"the expression `{text}` {what}", remedy=remedy)

    def _refuse(self, node: exp.Expr) -> ConfigError:
        """The error for a node without a rule: what it is, where, the nearest allowed function."""
        place = _at(_start(node))
        for kinds, what in REFUSED:
            if isinstance(node, kinds):
                return self._error(f"has {what}{place}; only operations on one row are allowed")
        if isinstance(node, exp.Func):
            meta = node.meta
            name = self.text[meta["start"] : meta["end"] + 1] if "end" in meta else node.sql_name()
            name = str(node.this) if isinstance(node, exp.Anonymous) else name.lower()
            return self._error(
                f"uses `{name}`{place}, which is no allowed function{_nearest(name, FUNCTIONS)}",
                "allowed: " + ", ".join(FUNCTIONS),
            )
        found = node.sql(dialect="spark")[:40]
        return self._error(f"has `{found}`{place} ({node.key}), which is not allowed")

    # ------------------------------------------------------------ writing

    def _sql(self, node: exp.Expr) -> str:
        self.depth += 1
        if self.depth > MAX_DEPTH:
            raise RecursionError
        try:
            kind = type(node)
            if kind in self.special:
                return self.special[kind](node)
            if kind in OPERATORS:
                return self._operator(node, OPERATORS[kind])
            if kind in CALLS:
                return self._function(node, *CALLS[kind])
            raise self._refuse(node)
        finally:
            self.depth -= 1

    def _only(self, node: exp.Expr, allowed: Iterable[str]) -> None:
        """Refuses a node with an argument that its rule would drop."""
        for key, value in node.args.items():
            if value and key not in NOTES and key not in allowed:
                raise self._error(
                    f"has `{node.sql(dialect='spark')[:40]}`{_at(_start(node))}, "
                    f"whose {key} is not allowed"
                )

    def _operator(self, node: exp.Expr, template: str) -> str:
        fields = [name for _, name, _, _ in Formatter().parse(template) if name]
        self._only(node, fields)
        if isinstance(node, exp.Neg) and isinstance(node.this, exp.Literal):
            return f"(-{self._sql(node.this)})"
        return template.format(**{name: self._sql(node.args[name]) for name in fields})

    def _function(self, node: exp.Expr, name: str, keys: tuple[str, ...]) -> str:
        self._only(node, keys)
        if isinstance(node, exp.Concat) and not node.args.get("safe"):
            raise self._error('has two texts side by side; write a quote as "it\'s"')
        decimals = node.args.get("decimals")
        if isinstance(node, exp.Round) and decimals is not None and not _is_literal(decimals):
            raise self._error("rounds to decimals that are not a plain number")
        arguments: list[exp.Expr] = []
        for key in keys:
            value = node.args.get(key)
            arguments += value if isinstance(value, list) else [value] if value is not None else []
        return f"{name}({', '.join(self._sql(argument) for argument in arguments)})"

    def _column(self, node: exp.Expr) -> str:
        if isinstance(node.this, exp.Star):
            raise self._refuse(node.this)
        name = ".".join(part.name for part in node.parts)  # type: ignore[attr-defined]
        if self.columns is not None and name not in self.columns:
            allowed = sorted(self.columns)
            raise self._error(
                f"reads the unknown column `{name}`{_at(_start(node))}{_nearest(name, allowed)}",
                "columns it may read: " + ", ".join(allowed),
            )
        self.read.add(name)
        return quote(name)

    def _literal(self, node: exp.Expr) -> str:
        value = str(node.this)
        if node.is_string:
            return "'" + value.replace("'", "\\'") + "'"
        written = re.fullmatch(r"(\d+(\.\d*)?|\.\d+)([eE][+-]?\d+)?", value)
        if not written or len(value) > 30 or not math.isfinite(float(value)):  # noqa: PLR2004
            place = _at(_start(node))
            raise self._error(f"has the number {value[:40]}{place}, which Spark cannot hold")
        return value

    def _unit(self, node: exp.Expr) -> str:
        unit = str(node.this)
        if unit not in UNITS:
            raise self._error(
                f"has the unit `{unit}`; allowed: {', '.join(UNITS)}{_nearest(unit, UNITS)}"
            )
        return unit

    def _is(self, node: exp.Expr) -> str:
        if not isinstance(node.expression, exp.Null | exp.Boolean):
            raise self._refuse(node)
        return f"({self._sql(node.this)} IS {self._sql(node.expression)})"

    def _in(self, node: exp.Expr) -> str:
        if node.args.get("query"):
            raise self._refuse(node.args["query"])
        self._only(node, ("this", "expressions"))
        if not node.expressions or not all(_is_literal(value) for value in node.expressions):
            raise self._error("has an `in` whose list is empty or holds more than plain values")
        values = ", ".join(self._sql(value) for value in node.expressions)
        return f"({self._sql(node.this)} IN ({values}))"

    def _if(self, node: exp.Expr) -> str:
        self._only(node, ("this", "true", "false"))
        branches = [self._sql(node.args[key]) for key in ("this", "true")]
        otherwise = node.args.get("false")
        return f"IF({', '.join(branches)}, {self._sql(otherwise) if otherwise else 'NULL'})"

    def _case(self, node: exp.Expr) -> str:
        self._only(node, ("this", "ifs", "default"))
        parts = ["CASE"]
        if node.this:
            parts.append(self._sql(node.this))
        for branch in node.args["ifs"]:
            parts.append(f"WHEN {self._sql(branch.this)} THEN {self._sql(branch.args['true'])}")
        if node.args.get("default"):
            parts.append(f"ELSE {self._sql(node.args['default'])}")
        return " ".join([*parts, "END"])

    def _cast(self, node: exp.Expr) -> str:
        self._only(node, ("this", "to", "requires_string"))
        target = node.args["to"]
        name = TYPES.get(target.this) if isinstance(target, exp.DataType) else None
        digits = [part.name for part in target.expressions]
        fits = not digits or (name == "DECIMAL" and _is_decimal(digits))
        if name is None or not fits:
            raise self._error(f"casts to `{target.sql(dialect='spark')}`; allowed: {TYPE_WORDS}")
        if digits:
            name += f"({', '.join(digits)})"
        return f"TRY_CAST({self._sql(node.this)} AS {name})"

    def _timestampadd(self, node: exp.Expr) -> str:
        """Whole units; null where the quantity is null, NaN or more than ten thousand years."""
        self._only(node, ("this", "expression", "unit"))
        unit, quantity = self._sql(node.args["unit"]), self._sql(node.expression)
        if not re.fullmatch(r"\(?-?\d{1,4}\)?", quantity):
            most = UNITS[unit]
            inside = f"TRY_CAST({quantity} AS DOUBLE) BETWEEN -{most} AND {most}"
            quantity = f"IF({inside}, TRY_CAST({quantity} AS BIGINT), NULL)"
        return f"TIMESTAMPADD({unit}, {quantity}, {self._sql(node.this)})"

    def _unix_timestamp(self, node: exp.Expr) -> str:
        usual = sqlglot.parse_one("unix_timestamp(x)", dialect="spark").args["format"]
        if node.args["format"] != usual or isinstance(node.this, exp.CurrentTimestamp):
            raise self._error(
                "calls `unix_timestamp` with a pattern or without a column; cast to timestamp"
            )
        return f"UNIX_TIMESTAMP({self._sql(node.this)})"

    def _weekday(self, node: exp.Expr) -> str:
        if str(node.this).lower() != "weekday" or len(node.expressions) != 1:
            raise self._refuse(node)
        return f"WEEKDAY({self._sql(node.expressions[0])})"


def _is_literal(node: exp.Expr) -> bool:
    if isinstance(node, exp.Neg | exp.Cast | exp.TryCast):
        node = node.this
    return isinstance(node, exp.Literal | exp.Boolean)


def _is_decimal(digits: list[str]) -> bool:
    """True for a precision of 1 to 38 and a scale not above it."""
    if not all(re.fullmatch(r"\d{1,2}", digit) for digit in digits):
        return False
    precision, scale = [*map(int, digits), 0][:2]
    return 1 <= precision <= 38 and scale <= precision  # noqa: PLR2004


def _start(node: exp.Expr) -> int | None:
    return min((part.meta["start"] for part in node.walk() if "start" in part.meta), default=None)


def _at(start: int | None) -> str:
    return "" if start is None else f" at character {start + 1}"


def _nearest(word: str, allowed: Iterable[str]) -> str:
    spelt = {known.lower(): known for known in allowed}
    close = difflib.get_close_matches(word.lower(), list(spelt), n=1, cutoff=0.6)
    return f". Did you mean `{spelt[close[0]]}`?" if close else ""
