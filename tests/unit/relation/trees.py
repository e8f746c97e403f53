"""Random columns, rows and expressions that a plan accepts, extreme bounds among them."""

from fractions import Fraction

from hypothesis import strategies as st

from sfumato.core.errors import ExpressionError
from sfumato.relation.expr import Call, Constant, Name, typed
from sfumato.relation.function import FUNCTIONS
from sfumato.relation.kind import Day, Instant, Label, Number, Truth, Words

EDGE = 2**62
HALF = Fraction(1, 2)
STEPS = [Fraction(1), Fraction(1, 100), Fraction(1, 3), Fraction(5), Fraction(1, 2**40)]
ENDS = st.one_of(
    st.integers(-30, 30), st.sampled_from([-EDGE, -(2**31), -(10**9), 10**9, 2**31, EDGE])
)
ODD = [Fraction(1, 2), Fraction(-7, 2), Fraction("0.01"), Fraction(1, 3), EDGE, -EDGE]
NUMBERS = st.one_of(st.integers(-5, 40), st.sampled_from(ODD))
POSITIVE = st.sampled_from([1, 2, 3, 7, 10, *map(Fraction, ("1/2", "0.01", "2/3")), 2**40])
DATES = st.dates().map(lambda d: d.isoformat())
TIMES = st.datetimes().map(lambda d: d.isoformat())
TEXTS = [
    *("A", "B", "C", "it's", "", "  a b ", "aaab", "100%", "a_b", "\\", "a\nb", "{}"),
    *(
        "Straße",
        "É",
        "e\u0301",
        "İi",
        "😀A",
        "ΣΑΣ",
        "12",
        " -3.505 ",
        "+0127",
        "1e3",
        "99999999999",
    ),
    *("2020-02-29", "2021-02-29", "0000-01-01", "9999-12-31T23:59:59.999999", "2020-02-29 24:00"),
    *("true", "No", "x" * 40),
]
PATTERNS = ["A", "%", "", "_", "%a%", "a%", "%b", "a_b", "%_%a%", "__%", "É%", "%%", "[a]%", ".*"]
ESCAPED = ["!%", "a!_%", "%!!%", "a"]
UNITS = ["day", "week", "month", "quarter", "year", "hour", "minute", "second"]
CONSTANTS = {
    Number: NUMBERS,
    Truth: st.booleans(),
    Label: st.sampled_from(["A", "B"]),
    Words: st.sampled_from(TEXTS),
    Day: DATES,
    Instant: TIMES,
}


@st.composite
def scopes(draw):
    """Columns of every kind: two numbers, and timestamps on steps that do not fit each other."""
    numbers = {}
    for name in ("n", "m"):
        low, high = sorted([draw(ENDS), draw(ENDS)])
        numbers[name] = Number(low, high, draw(st.sampled_from(STEPS)))
    return {
        **numbers,
        "small": Number(-3, 12),
        "cents": Number(-500, 2_000, Fraction(1, 100)),
        "flag": Truth(),
        "zone": Label(("A", "B", "C")),
        "grade": Label((1, 2, 30)),
        "word": Label(("a", "A", "Straße", " a ", "12", "-3.5", "2020-02-29", "true", "%_")),
        "note": Words(),
        "born": Day(-719162, 2932896),
        "seen": Day(*sorted([draw(st.integers(-9000, 30000)), draw(st.integers(-9000, 30000))])),
        "start": Instant("2019-12-31T23:59:59.250000", draw(st.integers(0, 10**6)), Fraction(60)),
        "stop": Instant("0001-01-01T00:00:00", 315537897599 * 3, Fraction(1, 3)),
    }


def codes(kind):
    """The codes that a column may hold, its bounds first, and NULL."""
    match kind:
        case Number() | Day():
            inside = st.one_of(
                st.sampled_from([kind.low, kind.high, min(max(kind.low, 0), kind.high)]),
                st.integers(kind.low, kind.high),
            )
        case Label():
            inside = st.integers(0, len(kind.values) - 1)
        case Instant():
            inside = st.one_of(st.sampled_from([0, kind.high]), st.integers(0, kind.high))
        case Truth():
            inside = st.booleans()
        case _:
            inside = st.sampled_from(TEXTS)
    return st.one_of(st.none(), inside, inside, inside)


def rows(scope, most=6):
    row = st.fixed_dictionaries({name: codes(kind) for name, kind in scope.items()})
    return st.lists(row, min_size=1, max_size=most)


@st.composite
def expressions(draw, scope, depth=3, name=None):
    """An expression that a plan accepts, with a function of the whitelist at its root."""
    name = name or draw(st.sampled_from(sorted(FUNCTIONS)))
    kinds = [kind for kind, listed in MAKES.items() if name in listed]
    return Grower(draw, scope).call(name, draw(st.sampled_from(kinds or EVERY)), depth)


EVERY = [Number, Truth, Label, Words, Day, Instant]
CLOCK = ["hour", "minute", "second"]
PARTS = [
    *("day", "month", "quarter", "weekday", "year", "week", "dayofyear", "dayofweek"),
    *CLOCK,
]
WHOLE = ["tinyint", "smallint", "integer", "bigint"]
SPELL = [
    *("lower", "upper", "trim", "ltrim", "rtrim", "left", "right", "substr", "split_part"),
    *("replace", "||", "concat", "varchar"),
]
FIND = ["starts_with", "ends_with", "contains"]
GRIDS = ["//", "%", "ceil", "floor", "magnitude", "round"]
MAKES = {
    Number: [
        *("+", "-", "*", "/", "abs", "clamp", "divide", "greatest", "least"),
        *("power", "sign", "root", "length", "strpos", "decimal", "double", "date_diff"),
        *(*GRIDS, *PARTS, *WHOLE),
    ],
    Truth: [
        *("=", "<>", "<", "<=", ">", ">=", "in", "and", "or", "not", "is_null"),
        *("like", "ilike", "boolean", *FIND),
    ],
    Words: SPELL,
    Label: ["date_trunc", *SPELL],
    Day: ["date", "date_add", "+", "-"],
    Instant: ["timestamp", "date_add", "date_trunc"],
}
CHOOSE = ["case", "coalesce", "nullif"]
MODEST = ["small", "cents"]  # numbers that most functions take


class Grower:
    """Grows trees from the leaves, so that every call is checked as it is made."""

    def __init__(self, draw, scope):
        self.draw, self.scope = draw, scope

    def one(self, *choices):
        return self.draw(st.sampled_from(choices))

    def once_in(self, times):
        return self.draw(st.integers(1, times)) == times

    def leaf(self, kind):
        if kind is Number and not self.once_in(3):
            return Name(self.one(*MODEST))
        return Name(self.one(*(n for n, k in self.scope.items() if isinstance(k, kind))))

    def operand(self, kind, depth):
        """Return a tree or, now and then, a constant that stands for one."""
        if self.once_in(4):
            return Constant(self.draw(CONSTANTS[kind]))
        return self.grow(kind, depth)

    def maybe(self, kind, depth):
        return Constant(None) if self.once_in(6) else self.operand(kind, depth)

    def grow(self, kind, depth):
        if depth == 0 or self.once_in(5):
            return self.leaf(kind)
        own = MAKES.get(kind, [])
        name = self.one(*CHOOSE) if not own or self.once_in(4) else self.one(*own)
        return self.call(name, kind, depth)

    def call(self, name, kind, depth):
        """Return a call that a plan accepts: of trees, else of leaves, else a leaf."""
        for below in (depth - 1, 0, 0):
            made = Call(name, tuple(self.arguments(name, kind, below)))
            try:
                if isinstance(typed(made, self.scope).kind, kind):
                    return made
            except ExpressionError:
                continue
        return self.leaf(kind)

    def arguments(self, name, kind, depth):
        """Return arguments of the right shape; whether they fit is for the plan to say."""
        few = self.draw(st.integers(1, 3))
        match name:
            case "case":
                arms = [(self.grow(Truth, depth), self.maybe(kind, depth)) for _ in range(few)]
                rest = [self.maybe(kind, depth)] if self.draw(st.booleans()) else []
                return [*(part for arm in arms for part in arm), *rest]
            case "coalesce":
                return [self.maybe(kind, depth) for _ in range(few)]
            case "nullif":
                return [self.operand(kind, depth), self.operand(kind, depth)]
        if kind in (Day, Instant) or name.startswith("date") or name in PARTS:
            return self.moments(name, kind, depth, few)
        if name in (*SPELL, *FIND, "length", "strpos", "like", "ilike"):
            return self.texts(name, depth, few)
        if name in (*WHOLE, "boolean", "decimal", "double"):
            return self.casts(name, depth)
        if name in MAKES[Truth]:
            return self.conditions(name, depth, few)
        return self.numbers(name, depth, few)

    def conditions(self, name, depth, few):
        """Return arguments of a comparison or of logic."""
        of = self.one(*EVERY)
        match name:
            case "and" | "or":
                return [self.operand(Truth, depth) for _ in range(few)]
            case "not":
                return [self.grow(Truth, depth)]
            case "is_null":
                return [self.grow(of, depth)]
            case "in":
                return [self.grow(of, depth), *(self.operand(of, depth) for _ in range(few))]
            case "<" | "<=" | ">" | ">=":
                of = self.one(Number, Day, Instant, Words)
                if self.once_in(4):
                    pair = [self.grow(Label, depth), Constant(self.one(*TEXTS, 1, 30, HALF))]
                    return pair if few > 1 else pair[::-1]
        return [self.operand(of, depth), self.operand(of, depth)]

    def casts(self, name, depth):
        """Return what is cast, and to how many digits."""
        if name == "double":
            return [self.grow(self.one(Truth, Number), depth)]
        first = self.grow(self.one(Truth, Number, Words, Label), depth)
        if name != "decimal":
            return [first]
        digits = self.one(1, 3, 9, 18)
        return [first, Constant(digits), Constant(self.one(0, 1, min(2, digits)))]

    def moments(self, name, kind, depth, few):
        """Return arguments of a function of dates and timestamps."""
        unit = Constant(self.one(*UNITS))
        match name:
            case "date" | "timestamp":
                return [self.grow(self.one(Day, Instant, Words, Label), depth)]
            case _ if name in PARTS:
                return [self.grow(Instant if name in CLOCK else self.one(Day, Instant), depth)]
            case "date_trunc":
                return [unit, self.grow(self.one(Day, Instant), depth)]
            case "date_diff":
                of = self.one(Day, Instant)
                return [unit, self.operand(of, depth), self.operand(of, depth)]
            case "date_add":
                return [self.operand(kind, depth), Constant(self.one(-13, -1, 0, 1, 90)), unit]
        pair = [self.grow(Day, depth), Constant(self.one(-400, 0, 1, 31))]
        return pair[::-1] if name == "+" and few == 1 else pair

    def text(self, depth):
        return self.grow(self.one(Words, Label), depth)

    def texts(self, name, depth, few):
        """Return arguments of a function of texts."""
        first = self.text(depth)
        places = [Constant(self.one(0, 1, 2, 5, 100)), Name("small"), Name("n")]
        match name:
            case "lower" | "upper" | "length":
                return [first]
            case "varchar":
                return [self.grow(self.one(Words, Label, Number, Day, Truth), depth)]
            case "trim" | "ltrim" | "rtrim":
                return [first] if few == 1 else [first, Constant(self.one(" ", "aA", "😀", ""))]
            case "left" | "right":
                return [first, self.one(*places)]
            case "substr":
                return [first, *(self.one(*places) for _ in range(min(few, 2)))]
            case "split_part":
                return [first, Constant(self.one("a", " ", "aa", "{", "ß")), Constant(few)]
            case "replace":
                old, new = self.one("a", "A", "aa", "ß", "'"), self.one("", "b", "aaa", "{}", "''")
                return [first, Constant(old), Constant(new)]
            case "like" | "ilike":
                if few == 1:
                    return [first, Constant(self.one(*ESCAPED)), Constant("!")]
                return [first, Constant(self.one(*PATTERNS))]
            case "||" | "concat":
                return [first, *(self.textual(depth) for _ in range(min(few, 2)))]
        return [first, self.textual(depth)]

    def textual(self, depth):
        """Return a text that may be a constant."""
        return Constant(self.one(*TEXTS)) if self.once_in(2) else self.text(depth)

    def numbers(self, name, depth, few):
        """Return arguments of a function of numbers."""
        first = self.grow(Number, depth)
        match name:
            case "abs":
                return [first]
            case "round":
                return [first, Constant(self.one(0, 1, -1, -3, 4, 18))]
            case "//" | "%" | "floor" | "ceil" | "magnitude":
                grid = [Constant(self.draw(POSITIVE))]
                return [first, *grid] if name in ("//", "%") or few > 1 else [first]
            case "/":
                return [first, Constant(self.draw(NUMBERS))]
            case "sign":
                return [first]
            case "power":
                return [first, Constant(self.one(1, 2, 3, 4))]
            case "root":
                return [first, Constant(self.draw(POSITIVE))]
            case "clamp":
                return [first, *map(Constant, sorted([self.draw(NUMBERS), self.draw(NUMBERS)]))]
            case "-" if few == 1:
                return [first]
        second = self.operand(Number, depth)
        pair = [first, second] if self.draw(st.booleans()) else [second, first]
        if name == "divide":
            return [*pair, Constant(self.draw(POSITIVE))]
        more = [self.operand(Number, depth)] if name in ("least", "greatest") and few > 2 else []
        return [*pair, *more]
