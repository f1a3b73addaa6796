"""The paper's objects as exact expressions: hybrids, interactions, curves, areas, Shapley values.

A game is a mapping from every subset u of 1:n to f(x′_u : x_{−u}), the prediction once the features
of u have been taken from the reference.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import combinations, permutations
from math import factorial
from typing import Any

import sympy as sp

from insdel.errors import UserError

Subset = frozenset[int]
Order = Sequence[int]
Game = Mapping[Subset, Any]
Weight = Callable[[int, Subset], Any]


def checked(n: int, most: int, least: int = 1) -> int:
    """`n` itself, if the check can be done in reasonable time for it."""
    if isinstance(n, bool) or not isinstance(n, int) or not least <= n <= most:
        raise UserError(
            f"this check needs a whole number from {least} to {most}, found {n!r}. "
            f"Its cost grows exponentially; use insdel.Lattice to test larger cases numerically."
        )
    return n


def checked_order(order: Order | None, default: Order) -> tuple[int, ...]:
    """The order as a tuple, the default one if none is given."""
    order = tuple(default if order is None else order)
    if sorted(order) != sorted(default):
        raise UserError(f"a permutation of 1 to {len(default)} is needed, found {order}.")
    return order


def zero(expression: Any) -> bool:
    """Whether an expression, polynomial in its symbols, is identically 0."""
    return bool(sp.expand(expression) == 0)


def subsets(members: int | Iterable[int]) -> list[Subset]:
    """All subsets, smallest first, of the given members, or of 1:n for a number n."""
    pool = range(1, members + 1) if isinstance(members, int) else sorted(members)
    return [frozenset(u) for size in range(len(pool) + 1) for u in combinations(pool, size)]


def orders(n: int) -> list[tuple[int, ...]]:
    """All n! orders of 1:n."""
    return list(permutations(range(1, n + 1)))


def complement(n: int, u: Subset) -> Subset:
    """The members of 1:n that are not in u; all of them for the empty set."""
    return frozenset(range(1, n + 1)) - u


def ceiling(u: Subset) -> int:
    """⌈u⌉, the largest member; 0 for the empty set  [section 3.1]."""
    return max(u, default=0)


def floor(n: int, u: Subset) -> int:
    """⌊u⌋, the smallest member; n + 1 for the empty set  [appendix B.1]."""
    return min(u, default=n + 1)


def positions(order: Order, u: Subset) -> Subset:
    """Where the members of u stand in the order, counted from 1."""
    return frozenset(order.index(j) + 1 for j in u)


def symbols(letter: str, n: int) -> dict[Subset, sp.Symbol]:
    """One real symbol per subset of 1:n."""
    return {u: sp.Symbol(f"{letter}_{{{','.join(map(str, sorted(u))) or '∅'}}}", real=True) for u in subsets(n)}


def hybrids(n: int, most: int = 8) -> dict[Subset, sp.Symbol]:
    """The most general game: 2ⁿ independent symbols f_u = f(x′_u : x_{−u}); n is at most `most`."""
    return symbols("f", checked(n, most))


def size(game: Game) -> int:
    """n, the number of features of the game."""
    return max(map(len, game))


def dividend(game: Game, u: Subset) -> Any:
    """Δ_u, the alternating sum over the subsets of u  [section 3.3]."""
    return sp.Add(*((-1) ** len(u - v) * game[v] for v in subsets(u)))


def from_dividends(dividends: Game, n: int) -> dict[Subset, Any]:
    """The game with the given Δ_u (those left out are 0): f_w = Σ_{u ⊆ w} Δ_u."""
    return {w: sp.Add(*(d for u, d in dividends.items() if u <= w)) for w in subsets(n)}


def weighted(game: Game, weight: Weight) -> Any:
    """Σ_u weight(n, u) Δ_u over all subsets."""
    return sp.Add(*(weight(size(game), u) * dividend(game, u) for u in game))


def curve(game: Game, order: Order) -> list[Any]:
    """f(x̃⁽⁰⁾), …, f(x̃⁽ⁿ⁾), the features taken from the reference in this order  [section 3.1]."""
    return [game[frozenset(order[:j])] for j in range(len(order) + 1)]


def auc(game: Game, order: Order) -> Any:
    """The sum along the curve  [eq. 1]."""
    return sp.Add(*curve(game, order))


def aul(game: Game) -> Any:
    """The same sum for the straight line from f(x) to f(x′)  [eq. 2]."""
    n = size(game)
    return sp.expand(sp.Rational(n + 1, 2) * (game[frozenset()] + game[complement(n, frozenset())]))


def abc(game: Game, order: Order) -> Any:
    """AUC − AUL for insertion in this order  [eq. 2]."""
    return auc(game, order) - aul(game)


def abc_deletion(game: Game, order: Order) -> Any:
    """AUL − AUC′ for deletion, which walks the same ranking from its end  [appendix B.1]."""
    return aul(game) - auc(game, order[::-1])


def mean_over_orders(n: int, quantity: Callable[[tuple[int, ...]], Any]) -> Any:
    """Expectation over a uniformly random order, by going through all n! of them."""
    return sp.expand(sp.Add(*(quantity(order) for order in orders(n))) / factorial(n))


def shapley(game: Game) -> dict[int, Any]:
    """Shapley values from their definition: weighted gains over the sets without j."""
    n = size(game)
    values = {}
    for j in range(1, n + 1):
        rest = subsets(complement(n, frozenset({j})))
        gains = (factorial(len(u)) * factorial(n - len(u) - 1) * (game[u | {j}] - game[u]) for u in rest)
        values[j] = sp.expand(sp.Add(*gains) / factorial(n))
    return values
