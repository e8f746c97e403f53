"""A question, before it is asked: free to look at, charged when it is released."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from sfumato.core.errors import CostError, InputError, KeysError
from sfumato.core.number import Exactable, failure_probability, open_unit
from sfumato.relation import AnyKeys, BoughtKeys, Node, reach
from sfumato.relation.bound import automatic
from sfumato.relation.bound import caps as caps_of
from sfumato.relation.node import carries
from sfumato.release.measure import check_name
from sfumato.session.output import Output
from sfumato.session.planner import Questions, needed, questions
from sfumato.session.purchase import WHICH, Cap, Clamp
from sfumato.session.target import target
from sfumato.session.wanted import Ends, Wanted, bind

if TYPE_CHECKING:
    from sfumato.release.release import Release
    from sfumato.session.door import Door
    from sfumato.session.part import Asked
    from sfumato.session.plan import Plan
    from sfumato.session.staged import StagedPlan
    from sfumato.session.within import Within

CONFIDENCE = Fraction(95, 100)
_IDLE = 2**31 - 1  # in place of a cap that is not bought, because no question uses it


@dataclass(frozen=True, slots=True, init=False, repr=False, eq=False)
class Question:
    """Numbers asked of the groups of a private table. It is checked when it is made.

    `explain` is free and reads nothing; `release` pays.
    """

    session: Door
    wanted: tuple[Wanted, ...]
    relation: Node
    keys: AnyKeys
    found: Questions
    purchases: tuple[Cap | Clamp, ...]
    caps: tuple[tuple[str, int], ...]
    remarks: tuple[str, ...]
    first: int | None

    def __init__(
        self,
        session: Door,
        node: Node,
        keys: AnyKeys,
        outputs: Mapping[str, Output],
        remarks: tuple[str, ...] = (),
        *,
        first: int | None = None,
        caps: Mapping[str, int] | None = None,
        ranges: Mapping[str, Ends] | None = None,
    ) -> None:
        """Check names and outputs, and find what has to be measured.

        Args:
            session: through which it is asked.
            node: the relation.
            keys: its groups.
            outputs: what is asked of each group, by name.
            remarks: what the answer says beside its notes.
            first: how many of the groups with the largest numbers are shown; None for all.
            caps: the caps that were bought, by name.
            ranges: the ranges that were bought, by the text of the expression.
        """
        if not outputs:
            raise InputError(
                "agg needs something to ask, such as agg(n=sf.count(), fare=sf.mean('fare'))."
            )
        wanted = bind(outputs, node, ranges)
        taken = [*keys.columns]
        for w in wanted:
            check_name(w.name, "an output")
            rank = w.is_rank and not w.output.interval
            taken += [w.name]
            taken += [f"{w.name}_rank_error"] if rank else [f"{w.name}_low", f"{w.name}_high"]
        twice = next((name for name in taken if taken.count(name) > 1), None)
        if twice is not None:
            raise InputError(
                f"two columns of the answer would be called {twice!r}. Name the output otherwise, "
                f"as in agg(total=sf.count()); an output n also takes n_low and n_high."
            )
        counts = ("count", "sum", "mean", "variance", "std")
        if isinstance(keys, BoughtKeys) and keys.other:
            for w in wanted:
                if w.function not in counts:
                    raise KeysError(
                        f"all other groups together have counts and sums of their rows, and "
                        f"{w.output!r} is neither. Leave out other=True, or ask for it by itself."
                    )
        object.__setattr__(self, "session", session)
        object.__setattr__(self, "wanted", wanted)
        object.__setattr__(self, "relation", node)
        object.__setattr__(self, "keys", keys)
        object.__setattr__(self, "remarks", remarks)
        object.__setattr__(self, "first", first)
        object.__setattr__(self, "purchases", tuple(_purchases(wanted, node, keys, caps, ranges)))
        object.__setattr__(self, "caps", tuple((caps or {}).items()))
        object.__setattr__(self, "found", self._questions())

    @property
    def queries(self) -> tuple[Asked, ...]:
        """What has to be measured."""
        return tuple(dict.fromkeys(self.found.queries))

    @property
    def node(self) -> Node:
        """The relation that is asked: filtered, truncated."""
        return self.found.node

    @property
    def plain(self) -> Questions:
        """What has to be measured if every sum is measured by itself."""
        return self._questions(centered=False)

    @property
    def least(self) -> Question:
        """The question with the least that can be bought for it."""
        caps: dict[str, int] = {p.which: 1 for p in self.purchases if isinstance(p, Cap)}
        ranges = {
            one.text: (Fraction(0), one.kind.step)
            for one in self.purchases
            if isinstance(one, Clamp)
        }
        return self.settled(caps, ranges)

    def asking(self, outputs: Mapping[str, Output]) -> Question:
        """Return the question for other outputs of the same groups."""
        return self._like(outputs)

    def settled(self, caps: Mapping[str, int], ranges: Mapping[str, Ends]) -> Question:
        """Return the question with caps and ranges that were bought."""
        outputs = {w.name: w.output for w in self.wanted}
        return self._like(outputs, first=self.first, caps=caps, ranges=ranges)

    def _like(self, outputs: Mapping[str, Output], **bought: Any) -> Question:
        """Return a question about the same rows and groups."""
        return Question(self.session, self.relation, self.keys, outputs, self.remarks, **bought)

    def _questions(self, *, centered: bool = True) -> Questions:
        """Find what has to be measured; before anything is bought, with the least of it.

        So whatever cannot be asked is refused before it is paid for.
        """
        if self.purchases:
            return self.least.found if centered else self.least.plain
        return self.beside((), centered=centered)

    def beside(self, others: Sequence[Wanted], *, centered: bool = True) -> Questions:
        """Find what has to be measured for this and for other outputs of the same groups."""
        wanted, allowed = tuple(dict.fromkeys((*self.wanted, *others))), None
        if automatic(self.relation) and carries(self.relation):
            used = needed(wanted, self.relation, self.keys)
            # Nothing rests on a cap that no question uses.
            idle: dict[str, int] = {which: _IDLE for which in WHICH if which not in used}
            allowed = caps_of(self.relation, {**idle, **dict(self.caps)})
        return questions(wanted, self.relation, self.keys, allowed, centered=centered)

    @property
    def sql(self) -> str:
        """The SQL that is asked: it reads contract columns and returns integers.

        Truncations are written as windows. They are run as a sort that keeps the same rows.
        """
        return self.lowered(self.queries)

    def lowered(self, queries: Sequence[Asked]) -> str:
        """Return the SQL of some questions."""
        from sfumato.session.scan import statements

        return ";\n\n".join(statements(tuple(dict.fromkeys(queries)), self.session.dialect))

    def explain(
        self,
        *unnamed: object,
        epsilon: Exactable | None = None,
        delta: Exactable = 0,
        rho: Exactable | None = None,
        accuracy: Within | Mapping[str, Within] | None = None,
        confidence: Exactable = CONFIDENCE,
    ) -> Plan | StagedPlan:
        """Return what it would cost and how far it would err. Free; reads nothing.

        Args:
            unnamed: nothing; a cost is named.
            epsilon: the price in ε; with `delta` in (ε, δ).
            delta: the δ, which allows Gaussian noise; 0 unless passed.
            rho: the price in ρ, instead.
            accuracy: how far counts and sums may be off, instead of a price: ``sf.within(50)``, or
                one for each output. The price is found; with `delta` it may be lower.
            confidence: the probability with which each interval holds.
        """
        from sfumato.session.plan import Plan

        if unnamed:
            raise CostError("a cost is named, so that nobody mistakes it: pass epsilon=, or rho=.")
        if accuracy is not None:
            if epsilon is not None or rho is not None:
                raise CostError(
                    "accuracy= finds the price, so that none is set beside it. Leave out epsilon= "
                    "and rho=."
                )
            if self.purchases:
                raise CostError(
                    "how far an answer errs depends on what is bought for it, so that no price can "
                    "be found beforehand. Set epsilon=, or declare caps and bounds."
                )
            if confidence != CONFIDENCE:
                raise CostError(
                    "how surely an answer is within its half-width is part of the wish. Pass "
                    "accuracy=sf.within(50, confidence=0.99), and leave out confidence=."
                )
            failure = failure_probability(delta)
            allowed = self.session.remaining.chargeable(failure) if failure else failure
            return Plan.within(self, accuracy, allowed)
        sure = open_unit(confidence, "confidence")
        price = target(epsilon, delta, rho, left=lambda: self.session.remaining)
        if self.purchases:
            from sfumato.session.staged import StagedPlan

            return StagedPlan.of(self, price, sure)
        return Plan.of(self, price, sure)

    def release(
        self,
        *unnamed: object,
        epsilon: Exactable | None = None,
        delta: Exactable = 0,
        rho: Exactable | None = None,
        accuracy: Within | Mapping[str, Within] | None = None,
        confidence: Exactable = CONFIDENCE,
        request: str | None = None,
    ) -> Release:
        """Pay, and return the answer with its intervals.

        The same question at the same price on the same version of the data is answered from the
        ledger, and costs nothing more.

        Args:
            unnamed: nothing; a cost is named.
            epsilon: the price in ε; with `delta` in (ε, δ).
            delta: the δ, which allows Gaussian noise; 0 unless passed.
            rho: the price in ρ, instead.
            accuracy: how far counts and sums may be off, instead of a price.
            confidence: the probability with which each interval holds.
            request: an id of your choice, for whoever has to retry: the same id is the same
                request for ever.

        Raises:
            BudgetExceeded: it costs more than is left; nothing was read.
        """
        plan = self.explain(
            *unnamed,
            epsilon=epsilon,
            delta=delta,
            rho=rho,
            accuracy=accuracy,
            confidence=confidence,
        )
        return plan.release(request=request)

    @property
    def asked(self) -> str:
        """What is asked, for people."""
        asked = ", ".join(f"{w.name}={w.output!r}" for w in self.wanted)
        return asked + (f" by {', '.join(self.keys.columns)}" if self.keys.columns else "")

    def __repr__(self) -> str:
        """Show what is asked."""
        return (
            f"<question: {self.asked}; see .explain(epsilon=...), pay with .release(epsilon=...)>"
        )


def _purchases(
    wanted: Sequence[Wanted],
    node: Node,
    keys: AnyKeys,
    caps: Mapping[str, int] | None,
    ranges: Mapping[str, Ends] | None,
) -> Iterator[Cap | Clamp]:
    """Yield what is to be bought and was not."""
    if carries(node) and reach(node).rows != 1:
        used = needed(wanted, node, keys)
        for which in WHICH:
            if which in automatic(node) and which in used and which not in (caps or {}):
                yield Cap(which, node, keys)
    texts = dict.fromkeys(w.output.text for w in wanted if w.output.bounds)
    for text in texts:
        if text is not None and text not in (ranges or {}):
            yield Clamp(text, node)
