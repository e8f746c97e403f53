"""What the parser calls things, and what the whitelist calls them: tables, and nothing else."""

from __future__ import annotations

from sqlglot import exp

BINARY: dict[type, str] = {
    exp.Add: "+",
    exp.Sub: "-",
    exp.Mul: "*",
    exp.Div: "/",
    exp.IntDiv: "//",
    exp.Mod: "%",
    exp.EQ: "=",
    exp.NEQ: "<>",
    exp.LT: "<",
    exp.LTE: "<=",
    exp.GT: ">",
    exp.GTE: ">=",
}
CHAINS: dict[type, str] = {exp.And: "and", exp.Or: "or"}
# Functions that the parser knows, and where in its node their arguments are, in order.
FUNCTIONS: dict[type, tuple[str, tuple[str, ...]]] = {
    exp.Abs: ("abs", ("this",)),
    exp.Floor: ("floor", ("this", "decimals")),
    exp.Ceil: ("ceil", ("this", "decimals")),
    exp.Round: ("round", ("this", "decimals")),
    exp.Least: ("least", ("this", "expressions")),
    exp.Greatest: ("greatest", ("this", "expressions")),
    exp.Pow: ("power", ("this", "expression")),
    exp.Sign: ("sign", ("this",)),
    exp.Coalesce: ("coalesce", ("this", "expressions")),
    exp.Nullif: ("nullif", ("this", "expression")),
    exp.Lower: ("lower", ("this",)),
    exp.Upper: ("upper", ("this",)),
    exp.Length: ("length", ("this",)),
    exp.Left: ("left", ("this", "expression")),
    exp.Right: ("right", ("this", "expression")),
    exp.Substring: ("substr", ("this", "start", "length")),
    exp.SplitPart: ("split_part", ("this", "delimiter", "part_index")),
    exp.Replace: ("replace", ("this", "expression", "replacement")),
    exp.Concat: ("concat", ("expressions",)),
    exp.StartsWith: ("starts_with", ("this", "expression")),
    exp.EndsWith: ("ends_with", ("this", "expression")),
    exp.Contains: ("contains", ("this", "expression")),
    exp.Year: ("year", ("this",)),
    exp.Quarter: ("quarter", ("this",)),
    exp.Month: ("month", ("this",)),
    exp.Week: ("week", ("this",)),
    exp.WeekOfYear: ("week", ("this",)),
    exp.Day: ("day", ("this",)),
    exp.DayOfMonth: ("day", ("this",)),
    exp.DayOfYear: ("dayofyear", ("this",)),
    exp.DayOfWeekIso: ("weekday", ("this",)),
    exp.DayOfWeek: ("dayofweek", ("this",)),
    exp.Hour: ("hour", ("this",)),
    exp.Minute: ("minute", ("this",)),
    exp.Second: ("second", ("this",)),
    exp.Date: ("date", ("this",)),
}
# Functions that it does not know.
CALLED = {
    "clamp": "clamp",
    "divide": "divide",
    "integer": "integer",
    "is_null": "is_null",
    "isnull": "is_null",
    "magnitude": "magnitude",
    "prefix": "starts_with",
    "root": "root",
    "suffix": "ends_with",
    "weekday": "weekday",
}
PARTS = {
    **{name: name for name in ("year", "quarter", "month", "week", "day", "weekday")},
    **{name: name for name in ("dayofyear", "dayofweek", "hour", "minute", "second")},
    "isodow": "weekday",
    "dow": "dayofweek",
    "doy": "dayofyear",
}
UNITS = {
    spelled: name
    for name in ("second", "minute", "hour", "day", "week", "month", "quarter", "year")
    for spelled in (name, f"{name}s")
}
CASTS: dict[exp.DType, str] = {
    exp.DType.TINYINT: "tinyint",
    exp.DType.SMALLINT: "smallint",
    exp.DType.INT: "integer",
    exp.DType.BIGINT: "bigint",
    exp.DType.DECIMAL: "decimal",
    exp.DType.DOUBLE: "double",
    exp.DType.FLOAT: "double",
    exp.DType.TEXT: "varchar",
    exp.DType.VARCHAR: "varchar",
    exp.DType.BOOLEAN: "boolean",
    exp.DType.DATE: "date",
    exp.DType.TIMESTAMPNTZ: "timestamp",
    exp.DType.TIMESTAMP: "timestamp",
}
