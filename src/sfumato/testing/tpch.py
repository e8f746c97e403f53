"""Tables like those of TPC-H, and a session in which the customer is the unit.

Names, types, lists of values and proportions are those of the published benchmark; the values
themselves are drawn here, so its reference answers do not apply. Comments are shorter, and names of
parts have fewer colors.

>>> sizes = {name: len(table) for name, table in tables("0.001").items()}
>>> [sizes[name] for name in ("customer", "orders", "part", "supplier", "partsupp", "nation")]
[150, 1500, 200, 10, 800, 25]
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import date
from itertools import product
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from sfumato.core.budget import Budget
from sfumato.core.number import Exactable, exact
from sfumato.core.schema import Category, Date, Integer, Real, Schema, Text
from sfumato.core.unit import Unit
from sfumato.session.session import Session
from sfumato.testing.rng import SeededRng

Whole = npt.NDArray[np.int64]

PRIVATE = ("customer", "orders", "lineitem")
LINKS = ("orders.o_custkey -> customer.c_custkey", "lineitem.l_orderkey -> orders.o_orderkey")
REGIONS = ("AFRICA", "AMERICA", "ASIA", "EUROPE", "MIDDLE EAST")
NATIONS = (
    *("ALGERIA", "ARGENTINA", "BRAZIL", "CANADA", "EGYPT", "ETHIOPIA", "FRANCE", "GERMANY"),
    *("INDIA", "INDONESIA", "IRAN", "IRAQ", "JAPAN", "JORDAN", "KENYA", "MOROCCO", "MOZAMBIQUE"),
    *("PERU", "CHINA", "ROMANIA", "SAUDI ARABIA", "VIETNAM", "RUSSIA", "UNITED KINGDOM"),
    "UNITED STATES",
)
_REGION_OF = (0, 1, 1, 1, 4, 0, 3, 3, 2, 2, 4, 4, 2, 4, 0, 0, 0, 1, 2, 3, 4, 2, 3, 3, 1)
SEGMENTS = ("AUTOMOBILE", "BUILDING", "FURNITURE", "HOUSEHOLD", "MACHINERY")
PRIORITIES = ("1-URGENT", "2-HIGH", "3-MEDIUM", "4-NOT SPECIFIED", "5-LOW")
MODES = ("AIR", "FOB", "MAIL", "RAIL", "REG AIR", "SHIP", "TRUCK")
INSTRUCTIONS = ("COLLECT COD", "DELIVER IN PERSON", "NONE", "TAKE BACK RETURN")
BRANDS = tuple(f"Brand#{maker}{n}" for maker, n in product(range(1, 6), repeat=2))
TYPES = tuple(
    " ".join(words)
    for words in product(
        ("STANDARD", "SMALL", "MEDIUM", "LARGE", "ECONOMY", "PROMO"),
        ("ANODIZED", "BURNISHED", "PLATED", "POLISHED", "BRUSHED"),
        ("TIN", "NICKEL", "BRASS", "STEEL", "COPPER"),
    )
)
CONTAINERS = tuple(
    " ".join(words)
    for words in product(
        ("SM", "MED", "JUMBO", "WRAP", "LG"),
        ("CASE", "BOX", "BAG", "JAR", "PKG", "PACK", "CAN", "DRUM"),
    )
)
_COLORS = (
    *("almond", "azure", "beige", "blue", "brown", "coral", "cream", "dark", "forest", "ghost"),
    *("green", "ivory", "lace", "lemon", "maroon", "navy", "olive", "peach", "rose", "tomato"),
)
_WORDS = (
    *("accounts", "bold", "careful", "Complaints", "Customer", "deposits", "express", "ideas"),
    *("packages", "pending", "quick", "requests", "silent", "special", "theories", "unusual"),
)
_FIRST, _LAST, _NOW = (
    (date.fromisoformat(day) - date(1970, 1, 1)).days
    for day in ("1992-01-01", "1998-08-02", "1995-06-17")
)
_MOST_LINES = 7


def tables(scale: Exactable = "0.01", *, seed: int = 1) -> dict[str, pa.Table]:
    """Return the eight tables.

    Args:
        scale: 1 stands for 150,000 customers with 1,500,000 orders.
        seed: the same tables for the same seed.
    """
    draw = _Draw(seed)
    sizes = {name: max(1, int(size * exact(scale, "the scale"))) for name, size in _SIZES.items()}
    part, prices = _part(sizes["part"], draw)
    supplier = max(4, sizes["supplier"])
    customer = _customer(sizes["customer"], draw)
    orders, lineitem = _sales(sizes["orders"], sizes["customer"], supplier, prices, draw)
    return {
        "customer": customer,
        "orders": orders,
        "lineitem": lineitem,
        "part": part,
        "supplier": _supplier(supplier, draw),
        "partsupp": _partsupp(sizes["part"], supplier, draw),
        "nation": pa.table(
            {
                "n_nationkey": np.arange(25),
                "n_name": NATIONS,
                "n_regionkey": _REGION_OF,
                "n_comment": draw.comments(25),
            }
        ),
        "region": pa.table(
            {"r_regionkey": np.arange(5), "r_name": REGIONS, "r_comment": draw.comments(5)}
        ),
    }


def tpch(
    data: Mapping[str, pa.Table] | None = None,
    *,
    max_orders: int = 60,
    max_lines: int = 250,
    budget: Budget | None = None,
) -> Session:
    """Open a session over the tables: the unit is the customer.

    Customers name it themselves; an order is its customer's, and a line that of its order. Nations,
    regions, parts, suppliers and what they offer are public.

    Args:
        data: the tables; those of `tables()` unless passed.
        max_orders: how many orders of one customer count.
        max_lines: how many lines of one customer count.
        budget: what may be spent; more than any test needs, unless passed.
    """
    given = tables() if data is None else data
    return Session(
        {name: given[name] for name in PRIVATE},
        unit={
            "customer": Unit.by("c_custkey", max_rows=1),
            "orders": Unit.by("o_custkey", max_rows=max_orders),
            "lineitem": Unit.by("l_orderkey", max_rows=max_lines),
        },
        links=LINKS,
        schema=schema(*(len(given[name]) for name in ("orders", "part", "supplier"))),
        public={name: table for name, table in given.items() if name not in PRIVATE},
        budget=Budget(epsilon="1e12", delta="0.1") if budget is None else budget,
    )


def schema(orders: int, parts: int, suppliers: int) -> dict[str, Schema]:
    """Return what is declared of the private tables, by name.

    The key of an order is declared, so that questions can count orders within a customer.

    Args:
        orders: how many orders there may be.
        parts: how many parts there are.
        suppliers: how many suppliers there are.
    """
    money = Real("-999.99", "9999.99", step="0.01")
    days = Date("1992-01-01", "1998-12-31")
    share = Real(0, "0.10", step="0.01")
    return {
        "customer": Schema(
            c_nationkey=Integer(0, 24),
            c_phone=Text(),
            c_acctbal=money,
            c_mktsegment=Category(SEGMENTS),
        ),
        "orders": Schema(
            o_orderkey=Integer(1, 4 * orders + 32),
            o_orderstatus=Category(["F", "O", "P"]),
            o_totalprice=Real(0, 600_000, step="0.01"),
            o_orderdate=days,
            o_orderpriority=Category(PRIORITIES),
            o_shippriority=Integer(0, 1),
            o_comment=Text(),
        ),
        "lineitem": Schema(
            l_partkey=Integer(1, parts),
            l_suppkey=Integer(1, suppliers),
            l_linenumber=Integer(1, _MOST_LINES),
            l_quantity=Integer(1, 50),
            l_extendedprice=Real(0, 105_000, step="0.01"),
            l_discount=share,
            l_tax=share,
            l_returnflag=Category(["A", "N", "R"]),
            l_linestatus=Category(["F", "O"]),
            l_shipdate=days,
            l_commitdate=days,
            l_receiptdate=days,
            l_shipinstruct=Category(INSTRUCTIONS),
            l_shipmode=Category(MODES),
        ),
    }


_SIZES = {"customer": 150_000, "orders": 1_500_000, "part": 200_000, "supplier": 10_000}


class _Draw:
    """Columns drawn from one seed, in a fixed order."""

    def __init__(self, seed: int) -> None:
        self._rng = SeededRng(seed)

    def whole(self, low: int, high: int, count: int) -> Whole:
        """Return numbers from `low` to `high`."""
        words = self._rng.words(count)
        return (words % np.uint64(high - low + 1)).astype(np.int64) + low

    def one_of(self, values: Sequence[str], count: int) -> Any:
        return pa.array(values).take(pa.array(self.whole(0, len(values) - 1, count)))

    def comments(self, count: int) -> Any:
        return _joined(" ", *(self.one_of(_WORDS, count) for _ in range(4)))

    def addresses(self, count: int) -> Any:
        return _joined(" ", self.one_of(_WORDS, count), _text(self.whole(1, 999, count)))

    def phones(self, nations: Whole) -> Any:
        """Return numbers that begin with the code of their nation."""
        sizes = ((100, 999), (100, 999), (1000, 9999))
        parts = [_text(self.whole(low, high, len(nations))) for low, high in sizes]
        return _joined("-", _text(nations + 10), *parts)


def _text(numbers: Whole) -> Any:
    return pa.array(numbers).cast(pa.string())


def _joined(between: str, *columns: Any) -> Any:
    return pc.binary_join_element_wise(*columns, between)


def _called(what: str, keys: Whole) -> Any:
    """Return names such as Supplier#000000007."""
    return _joined("", pa.scalar(f"{what}#"), pc.utf8_lpad(_text(keys), 9, "0"))


def _cents(cents: Whole) -> Any:
    """Return cents as exact decimals."""
    halves = np.stack([cents, cents >> 63], axis=1)  # the sign fills the upper half
    money = pa.decimal128(15, 2)
    return pa.Array.from_buffers(money, len(cents), [None, pa.py_buffer(halves.tobytes())])


def _days(days: Whole) -> Any:
    return pa.array(days.astype(np.int32)).cast(pa.date32())


def _part(count: int, draw: _Draw) -> tuple[pa.Table, Whole]:
    keys = np.arange(1, count + 1)
    prices = 90_000 + keys // 10 % 20_001 + 100 * (keys % 1000)
    brands = draw.whole(0, len(BRANDS) - 1, count)
    table = pa.table(
        {
            "p_partkey": keys,
            "p_name": _joined(" ", *(draw.one_of(_COLORS, count) for _ in range(5))),
            "p_mfgr": _joined("", pa.scalar("Manufacturer#"), _text(brands // 5 + 1)),
            "p_brand": pa.array(BRANDS).take(pa.array(brands)),
            "p_type": draw.one_of(TYPES, count),
            "p_size": draw.whole(1, 50, count),
            "p_container": draw.one_of(CONTAINERS, count),
            "p_retailprice": _cents(prices),
            "p_comment": draw.comments(count),
        }
    )
    return table, prices


def _supplier(count: int, draw: _Draw) -> pa.Table:
    keys, nations = np.arange(1, count + 1), draw.whole(0, 24, count)
    return pa.table(
        {
            "s_suppkey": keys,
            "s_name": _called("Supplier", keys),
            "s_address": draw.addresses(count),
            "s_nationkey": nations,
            "s_phone": draw.phones(nations),
            "s_acctbal": _cents(draw.whole(-99_999, 999_999, count)),
            "s_comment": draw.comments(count),
        }
    )


def _offered(parts: Whole, turn: Whole, suppliers: int) -> Whole:
    """Return one of the four suppliers of each part."""
    return (parts + turn * (suppliers // 4 + (parts - 1) // suppliers)) % suppliers + 1


def _partsupp(parts: int, suppliers: int, draw: _Draw) -> pa.Table:
    keys, turn = np.repeat(np.arange(1, parts + 1), 4), np.tile(np.arange(4), parts)
    return pa.table(
        {
            "ps_partkey": keys,
            "ps_suppkey": _offered(keys, turn, suppliers),
            "ps_availqty": draw.whole(1, 9999, len(keys)),
            "ps_supplycost": _cents(draw.whole(100, 100_000, len(keys))),
            "ps_comment": draw.comments(len(keys)),
        }
    )


def _customer(count: int, draw: _Draw) -> pa.Table:
    keys, nations = np.arange(1, count + 1), draw.whole(0, 24, count)
    return pa.table(
        {
            "c_custkey": keys,
            "c_name": _called("Customer", keys),
            "c_address": draw.addresses(count),
            "c_nationkey": nations,
            "c_phone": draw.phones(nations),
            "c_acctbal": _cents(draw.whole(-99_999, 999_999, count)),
            "c_mktsegment": draw.one_of(SEGMENTS, count),
            "c_comment": draw.comments(count),
        }
    )


def _sales(
    count: int, customers: int, suppliers: int, prices: Whole, draw: _Draw
) -> tuple[pa.Table, pa.Table]:
    """Return orders and their lines; a third of the customers never orders."""
    place = np.arange(count)
    keys = place // 8 * 32 + place % 8 + 1  # of 32 keys 8 are in use
    buyers = np.array([key for key in range(1, customers + 1) if key % 3] or [1])
    ordered = draw.whole(_FIRST, _LAST, count)
    lines = draw.whole(1, _MOST_LINES, count)
    order = np.repeat(place, lines)
    total = len(order)
    number = np.arange(total) - np.repeat(np.cumsum(lines) - lines, lines) + 1
    parts, turn = draw.whole(1, len(prices), total), draw.whole(0, 3, total)
    quantity, discount, tax = (draw.whole(*ends, total) for ends in ((1, 50), (0, 10), (0, 8)))
    extended = quantity * prices[parts - 1]
    shipped = ordered[order] + draw.whole(1, 121, total)
    received = shipped + draw.whole(1, 30, total)
    came, open_ = received <= _NOW, shipped > _NOW
    returned = np.where(came, draw.whole(0, 1, total), 2)
    waiting = np.bincount(order, open_, count)
    status = np.where(waiting == 0, 0, np.where(waiting == lines, 1, 2))
    # Sums of bincount are floats, exact below 2^53; the largest order stays below 2^40.
    paid = np.bincount(order, extended * (100 - discount) * (100 + tax), count)
    lineitem = pa.table(
        {
            "l_orderkey": keys[order],
            "l_partkey": parts,
            "l_suppkey": _offered(parts, turn, suppliers),
            "l_linenumber": number,
            "l_quantity": quantity,
            "l_extendedprice": _cents(extended),
            "l_discount": _cents(discount),
            "l_tax": _cents(tax),
            "l_returnflag": pa.array(["R", "A", "N"]).take(pa.array(returned)),
            "l_linestatus": pa.array(["F", "O"]).take(pa.array(open_.astype(np.int64))),
            "l_shipdate": _days(shipped),
            "l_commitdate": _days(ordered[order] + draw.whole(30, 90, total)),
            "l_receiptdate": _days(received),
            "l_shipinstruct": draw.one_of(INSTRUCTIONS, total),
            "l_shipmode": draw.one_of(MODES, total),
            "l_comment": draw.comments(total),
        }
    )
    clerks = max(1, count // 1500)
    orders = pa.table(
        {
            "o_orderkey": keys,
            "o_custkey": buyers[draw.whole(0, len(buyers) - 1, count)],
            "o_orderstatus": pa.array(["F", "O", "P"]).take(pa.array(status)),
            "o_totalprice": _cents((paid.astype(np.int64) + 5000) // 10_000),
            "o_orderdate": _days(ordered),
            "o_orderpriority": draw.one_of(PRIORITIES, count),
            "o_clerk": _called("Clerk", draw.whole(1, clerks, count)),
            "o_shippriority": np.zeros(count, np.int64),
            "o_comment": draw.comments(count),
        }
    )
    return orders, lineitem
