"""Shapley values depend on the odd part of a game alone  [used by the chapter on cost; not in the paper]."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import sympy as sp

from .algebra import Game, Subset, checked, from_dividends, hybrids, shapley, size, subsets, symbols, zero
from .check import Result, statement


def complement(game: Game, u: Subset) -> Subset:
    """The features that are not in u."""
    return frozenset(range(1, size(game) + 1)) - u


def odd_part(game: Game) -> dict[Subset, Any]:
    """g_u = (f_u − f of the complement) / 2."""
    return {u: (game[u] - game[complement(game, u)]) / 2 for u in game}


def even_part(game: Game) -> dict[Subset, Any]:
    """(f_u + f of the complement) / 2."""
    return {u: (game[u] + game[complement(game, u)]) / 2 for u in game}


def parity_coefficient(game: Game, u: Subset) -> Any:
    """c_u of f_v = Σ_u c_u (−1)^|u ∩ v|, the Walsh transform."""
    return sp.expand(sp.Add(*((-1) ** len(u & v) * game[v] for v in game)) / len(game))


@statement("beyond the paper")
def even_part_has_no_say(n: int = 4, part: Callable[[Game], dict[Subset, Any]] = even_part) -> Result:
    """The Shapley values of the even part are 0, so those of f are those of its odd part."""
    game = hybrids(checked(n, 5))
    left, odd = shapley(part(game)), shapley(odd_part(game))
    values = shapley(game)
    return (
        rf"the Shapley values of $f$ are those of $(f(S) - f(S^c))/2$; those of the rest are 0, $n = {n}$",
        all(zero(left[j]) and zero(values[j] - odd[j]) for j in values),
        {"φ_1": values[1]},
    )


@statement("beyond the paper")
def odd_parities_are_shared(
    n: int = 4, share: Callable[[Subset], Any] = lambda u: sp.Rational(-2 * (len(u) % 2), len(u))
) -> Result:
    """φ_j = −2 Σ c_u / |u| over the sets u of odd size that contain j."""
    game = hybrids(checked(n, 5))
    values, sets = shapley(game), [u for u in subsets(n) if u]
    shared = {j: sp.Add(*(share(u) * parity_coefficient(game, u) for u in sets if j in u)) for j in values}
    return (
        rf"$\phi_j = -2\sum_{{u\ni j,\ |u|\ \mathrm{{odd}}}} c_u/|u|$ for every $f$, $n = {n}$",
        all(zero(values[j] - shared[j]) for j in values),
        {"φ_1": values[1]},
    )


@statement("beyond the paper")
def odd_kernel(n: int = 4, counted: Callable[[Subset], bool] = lambda u: len(u) % 2 == 1) -> Result:
    """Σ over odd u of Π_{j∈u} ρ_j z_j z′_j is proportional to sinh(Σ b_j z_j z′_j) if ρ_j = tanh b_j."""
    rates = sp.symbols(f"rho_1:{checked(n, 6) + 1}", positive=True)
    signs = sp.symbols(f"s_1:{n + 1}", real=True)  # z_j z′_j, which is ±1
    total = sp.Add(*(sp.Mul(*(rates[j - 1] * signs[j - 1] for j in u)) for u in subsets(n) if counted(u)))
    both = [sp.Mul(*(1 + way * r * s for r, s in zip(rates, signs, strict=True))) for way in (1, -1)]
    # e^(±b) = √((1 + ρ) / (1 − ρ)) to the power ±1, so that Π (1 ± ρ s) = c e^(± Σ b s) with c = Π √(1 − ρ²)
    one = [(1 + r * s) ** 2 - (1 - r**2) * ((1 + r) / (1 - r)) ** s for r, s in zip(rates, signs, strict=True)]
    exact = all(zero(sp.simplify(gap.subs(s, way))) for gap, s in zip(one, signs, strict=True) for way in (1, -1))
    return (
        rf"$\sum_{{|u|\ \mathrm{{odd}}}} \prod_{{j\in u}} \rho_j z_j z'_j \propto \sinh(\sum_j b_j z_j z'_j)$, $n={n}$",
        exact and zero(total - (both[0] - both[1]) / 2),
        {"one factor": both[0].args[0]},
    )


def two_sided(game: Game, j: int) -> Any:
    """[f_j − f_∅ + f_N − f_{N∖j}] / 2: feature j changed first, and changed last."""
    every, single = frozenset(range(1, size(game) + 1)), frozenset({j})
    return (game[single] - game[frozenset()] + game[every] - game[every - single]) / 2


@statement("beyond the paper")
def two_sided_is_shapley(n: int = 5, most: int = 2) -> Result:
    """Two-sided occlusion is the Shapley value of every game whose interactions have at most two members."""
    dividends = {u: delta for u, delta in symbols("Delta", checked(n, 6)).items() if len(u) <= most}
    game = from_dividends(dividends, n)
    values = shapley(game)
    return (
        rf"$\tau_j = \phi_j$ for all $j$ if $\Delta_u = 0$ for $|u| > {most}$, $n = {n}$",
        all(zero(two_sided(game, j) - values[j]) for j in values),
        {"φ_1": sp.expand(values[1])},
    )


@statement("beyond the paper")
def two_sided_error(n: int = 5, half: Any = sp.S.Half) -> Result:
    """τ_j − φ_j = Σ (1/2 − 1/|u|) Δ_u over the sets u of three or more that contain j: less than half of each."""
    dividends = symbols("Delta", checked(n, 6))
    game = from_dividends(dividends, n)
    values = shapley(game)
    large = [u for u in dividends if len(u) >= 3]

    def error(members: list[Subset]) -> Any:
        return sp.Add(*((half - sp.Rational(1, len(u))) * dividends[u] for u in members))

    each = all(zero(two_sided(game, j) - values[j] - error([u for u in large if j in u])) for j in values)
    between = two_sided(game, 1) - two_sided(game, 2) - (values[1] - values[2])
    one, other = ([u for u in large if j in u and i not in u] for j, i in ((1, 2), (2, 1)))
    return (
        rf"$\tau_j - \phi_j = \sum_{{u \ni j,\ |u| \ge 3}} (1/2 - 1/|u|)\,\Delta_u$; in $\tau_i - \tau_j$ the sets "
        rf"that contain both cancel, $n = {n}$",
        each and zero(between - error(one) + error(other)),
        {"τ_1 − φ_1": sp.expand(two_sided(game, 1) - values[1])},
    )


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
    """Kernel SHAP from sets drawn with their complements is the fit with all products of two features."""
    linear, quadratic = (fitted_values(checked(n, 5, 4), degree, weight) for degree in (1, 2))
    values = linear * sp.Matrix(list(hybrids(n).values()))
    return (
        rf"Sets drawn in complementary pairs: the linear fit of Kernel SHAP and the fit with all products of two "
        rf"features give the same values for every $f$, $n = {n}$",
        linear == quadratic,
        {"estimated φ_1": values[0]},
    )
