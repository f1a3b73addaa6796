"""Shapley values depend on the odd part of a game alone  [chapters on both tests and on cost; not in the paper]."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import sympy as sp

from .algebra import Game, Subset, checked, complement, from_dividends, hybrids, shapley, size, subsets, symbols, zero
from .check import Result, statement


def part(game: Game, sign: int) -> dict[Subset, Any]:
    """(f_u ± f of the complement) / 2: the even part for a sign of 1, the odd part for −1."""
    return {u: (game[u] + sign * game[complement(size(game), u)]) / 2 for u in game}


@statement("beyond the paper")
def even_part_has_no_say(n: int = 4, sign: int = 1) -> Result:
    """the Shapley values of $f$ are those of $(f(S) - f(S^c))/2$; those of the rest are 0, $n = %(n)s$"""
    game = hybrids(n, 5)
    values, rest, odd = shapley(game), shapley(part(game, sign)), shapley(part(game, -1))
    return all(zero(rest[j]) and zero(values[j] - odd[j]) for j in values), {"φ_1": values[1]}


@statement("beyond the paper")
def odd_parities_are_shared(
    n: int = 4, share: Callable[[Subset], Any] = lambda u: sp.Rational(2 * (len(u) % 2), len(u))
) -> Result:
    r"""$\phi_j = 2\sum_{u\ni j,\ |u|\ \mathrm{odd}} c_u/|u|$ for every $f$, $n = %(n)s$"""
    game = hybrids(n, 5)
    values = shapley(game)
    # c_u of f_v = Σ_u c_u Π_{j∈u} s_j, s_j = 1 for j in v, else −1: the Walsh transform
    parities = {u: sp.Add(*((-1) ** len(u - v) * game[v] for v in game)) / len(game) for u in game}
    shared = {j: sp.Add(*(share(u) * c for u, c in parities.items() if j in u)) for j in values}
    return all(zero(values[j] - shared[j]) for j in values), {"φ_1": values[1]}


@statement("beyond the paper")
def odd_kernel(n: int = 4, counted: Callable[[Subset], bool] = lambda u: len(u) % 2 == 1) -> Result:
    r"""$\sum_{|u|\ \mathrm{odd}} \prod_{j\in u} \rho_j s_j s'_j \propto \sinh(\sum_j b_j s_j s'_j)$, $n=%(n)s$"""
    # ρ_j = tanh b_j, and the signs are s_j s′_j, which is ±1
    rates, signs = sp.symbols(f"rho_1:{checked(n, 6) + 1}", positive=True), sp.symbols(f"s_1:{n + 1}", real=True)
    total = sp.Add(*(sp.Mul(*(rates[j - 1] * signs[j - 1] for j in u)) for u in subsets(n) if counted(u)))
    both = [sp.Mul(*(1 + way * r * s for r, s in zip(rates, signs, strict=True))) for way in (1, -1)]
    # e^(±b) = √((1 + ρ) / (1 − ρ)) to the power ±1, so that Π (1 ± ρ s) = c e^(± Σ b s) with c = Π √(1 − ρ²)
    one = [(1 + r * s) ** 2 - (1 - r**2) * ((1 + r) / (1 - r)) ** s for r, s in zip(rates, signs, strict=True)]
    exact = all(zero(sp.simplify(gap.subs(s, way))) for gap, s in zip(one, signs, strict=True) for way in (1, -1))
    return exact and zero(total - (both[0] - both[1]) / 2), {"one factor": both[0].args[0]}


def two_sided(game: Game, j: int) -> Any:
    """[f_j − f_∅ + f_N − f_{N∖j}] / 2: feature j changed first, and changed last."""
    n, single = size(game), frozenset({j})
    return (game[single] - game[frozenset()] + game[complement(n, frozenset())] - game[complement(n, single)]) / 2


@statement("beyond the paper")
def two_sided_is_shapley(n: int = 5, most: int = 2) -> Result:
    r"""$\tau_j = \phi_j$ for all $j$ if $\Delta_u = 0$ for $|u| > %(most)s$, $n = %(n)s$"""
    game = from_dividends({u: delta for u, delta in symbols("Δ", checked(n, 6)).items() if len(u) <= most}, n)
    values = shapley(game)
    return all(zero(two_sided(game, j) - values[j]) for j in values), {"φ_1": sp.expand(values[1])}


@statement("beyond the paper")
def two_sided_error(n: int = 5, half: Any = sp.S.Half) -> Result:
    r"""$\tau_j - \phi_j = \sum_{u \ni j,\ |u| \ge 3} (1/2 - 1/|u|)\,\Delta_u$; in $\tau_i - \tau_j$ the sets that
    contain both cancel, $n = %(n)s$"""
    dividends = symbols("Δ", checked(n, 6))
    game = from_dividends(dividends, n)
    values, large = shapley(game), [u for u in dividends if len(u) >= 3]

    def error(members: list[Subset]) -> Any:
        return sp.Add(*((half - sp.Rational(1, len(u))) * dividends[u] for u in members))

    gaps = {j: two_sided(game, j) - values[j] for j in values}
    each = all(zero(gap - error([u for u in large if j in u])) for j, gap in gaps.items())
    one, other = ([u for u in large if j in u and i not in u] for j, i in ((1, 2), (2, 1)))
    return each and zero(gaps[1] - gaps[2] - error(one) + error(other)), {"τ_1 − φ_1": sp.expand(gaps[1])}


def draws(n: int, u: Subset) -> int:
    """How often u is drawn, as often as its complement; at n = 4 one of the seven pairs is never drawn."""
    return abs(2 * sum(u) - sum(range(1, n + 1)))


def fitted_values(n: int, degree: int, weight: Callable[[int, Subset], int]) -> sp.Matrix:
    """Shapley values of the polynomial that fits f best on weighted sets and exactly on ∅ and 1:n, (n, 2ⁿ).

    Row j, column u: what the value of feature j owes to f_u.
    """
    sets, terms = subsets(n), [t for t in subsets(n) if len(t) <= degree]
    design = sp.Matrix([[int(t <= u) for t in terms] for u in sets])
    weighted = sp.diag(0, *(weight(n, u) for u in sets[1:-1]), 0) * design
    ends = sp.Matrix.vstack(design[0, :], design[-1, :])
    given = sp.Matrix.vstack(*(sp.Matrix([[int(u == end) for u in sets]]) for end in (sets[0], sets[-1])))
    system = sp.Matrix.vstack(sp.Matrix.hstack(design.T * weighted, ends.T), sp.Matrix.hstack(ends, sp.zeros(2)))
    solved = system.LUsolve(sp.Matrix.vstack(weighted.T, given))
    share = sp.Matrix([[sp.Rational(j in t, max(len(t), 1)) for t in terms] for j in range(1, n + 1)])
    return share * solved[: len(terms), :]


@statement("beyond the paper")
def paired_kernel_shap(n: int = 4, weight: Callable[[int, Subset], int] = draws) -> Result:
    """Sets drawn in complementary pairs: the linear fit of Kernel SHAP and the fit with all products of two
    features give the same values for every $f$, $n = %(n)s$"""
    linear, quadratic = (fitted_values(checked(n, 5, 4), degree, weight) for degree in (1, 2))
    return linear == quadratic, {"estimated φ_1": (linear * sp.Matrix(list(hybrids(n).values())))[0]}
