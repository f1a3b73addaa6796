"""Integrated gradients: completeness, their order, and when they equal Shapley values."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import product
from typing import Any

import sympy as sp

from .algebra import Game, auc, checked, hybrids, shapley, size, subsets, zero
from .check import Result, statement
from .monotone import H, composite

T = sp.Symbol("t", real=True)
Factor = Callable[[Any, Any], Any]


def step(start: Any, end: Any) -> Any:
    """x′_j − x_j, by which the gradient along the path must be multiplied."""
    return end - start


def ends(n: int) -> tuple[list[Any], list[Any]]:
    """x and x′ as real symbols."""
    x, reference = ([sp.Symbol(f"{name}_{{{j}}}", real=True) for j in range(1, n + 1)] for name in ("x", "x'"))
    return x, reference


def line(x: Sequence[Any], reference: Sequence[Any]) -> list[Any]:
    """The straight path x + t(x′ − x)  [section 4]."""
    return [a + T * (b - a) for a, b in zip(x, reference, strict=True)]


def integrated_gradients(
    f: Callable[..., Any], x: Sequence[Any], reference: Sequence[Any], factor: Factor = step
) -> list[Any]:
    """(x′_j − x_j) ∫₀¹ ∂_j f(x + t(x′ − x)) dt for each j, exactly, f a polynomial  [section 4]."""
    places = [sp.Dummy() for _ in x]
    path = dict(zip(places, line(x, reference), strict=True))
    slopes = [sp.expand(sp.diff(f(*places), place).subs(path, simultaneous=True)) for place in places]
    means = [sp.integrate(slope, (T, 0, 1)) for slope in slopes]
    return [sp.expand(factor(a, b) * mean) for a, b, mean in zip(x, reference, means, strict=True)]


@statement("section 4")
def ig_completeness(n: int = 3, factor: Factor = step) -> Result:
    r"""$\sum_j (x'_j-x_j)\int_0^1\partial_jf(x+t(x'-x))\,dt$ ${} = f(x')-f(x)$: by the chain rule for any
    differentiable $f$ of %(n)s features, and integrated for every polynomial quadratic in each of two"""
    x, reference = ends(checked(n, 5, least=2))
    along = sp.Function("f")(*line(x, reference))
    factors = [factor(a, b) for a, b in zip(x, reference, strict=True)]
    integrand = sp.Add(*(c * along.fdiff(j) for j, c in enumerate(factors, start=1)))  # d/dt f along the path

    def f(a: Any, b: Any) -> Any:
        return sp.Add(*(sp.Symbol(f"c_{j}{k}", real=True) * a**j * b**k for j, k in product(range(3), repeat=2)))

    total = sp.Add(*integrated_gradients(f, x[:2], reference[:2], factor))
    missing = sp.expand(f(*reference[:2]) - f(*x[:2]) - total)
    details = {"factors of the partial derivatives": factors, "missing for polynomials": missing}
    return zero(along.diff(T) - integrand) and bool(missing == 0), details


def scaled_step(beta: Any, start: Any, end: Any) -> Any:
    """γ_j = (x′_j − x_j)β_j  [appendix B.2]."""
    return (end - start) * beta


@statement("appendix B.2")
def ig_order(n: int = 3, coefficient: Callable[[Any, Any, Any], Any] = scaled_step) -> Result:
    r"""For $f = h(\beta_0+x^\top\beta)$: $\mathrm{IG}_j = \gamma_j\int_0^1h'(a(t))\,dt$ with $\gamma_j =
    (x'_j-x_j)\beta_j$, so with $h'>0$ the order of IG is that of $\gamma$; $n = %(n)s$"""
    x, reference = ends(checked(n, 5))
    beta = [sp.Symbol(f"β_{j}", real=True) for j in range(n + 1)]
    places = [sp.Dummy() for _ in x]
    path = dict(zip(places, line(x, reference), strict=True))
    f = H(beta[0] + sp.Add(*(b * z for b, z in zip(beta[1:], places, strict=True))))
    slope = f.fdiff().subs(path, simultaneous=True)
    partials = [sp.diff(f, z).subs(path, simultaneous=True) for z in places]
    claims = [coefficient(*terms) for terms in zip(beta[1:], x, reference, strict=True)]
    terms = zip(x, reference, partials, claims, strict=True)
    holds = all(zero((b - a) * partial - claim * slope) for a, b, partial, claim in terms)
    return holds, {"γ": claims, "a(t)": f.args[0].subs(path, simultaneous=True)}


def cubic(w: Any) -> Any:
    """w + w³: a polynomial whose derivative 1 + 3w² is positive everywhere."""
    return w + w**3


@statement("section 3 and appendix B.2")
def ig_order_curved(power: int = 2) -> Result:
    r"""$f = h(\frac9{10}x_1^{%(power)s}+x_2)$, $h(w)=w+w^3$, from $(0,0)$ to $(1,1)$: IG ranks feature 1 first,
    although Shapley values and the larger AUC put feature 2 first"""
    effects = [sp.Rational(9, 10), sp.Integer(1)]
    ig = integrated_gradients(lambda a, b: cubic(effects[0] * a**power + effects[1] * b), [0, 0], [1, 1])
    game = composite(cubic, [sp.Integer(0), *effects])
    phi, first, second = shapley(game), auc(game, (1, 2)), auc(game, (2, 1))
    holds = bool(ig[0] > ig[1] and phi[1] < phi[2] and first < second)
    return holds, {"IG": ig, "φ": list(phi.values()), "AUC((1, 2))": first, "AUC((2, 1))": second}


def interpolation(game: Game) -> Callable[..., Any]:
    """The multilinear function that equals the game at the corners of the cube  [section 4]."""
    n = size(game)

    def evaluate(*z: Any) -> Any:
        sides = {u: [z[j - 1] if j in u else 1 - z[j - 1] for j in range(1, n + 1)] for u in subsets(n)}
        return sp.Add(*(sp.Mul(game[u], *sides[u]) for u in sides))

    return evaluate


@statement("section 4, option b")
def ig_multilinear(n: int = 3, power: int = 1) -> Result:
    """IG of the multilinear interpolation of any game, plus an additive function of cubic parts, equal its Shapley
    values, $n = %(n)s$"""
    game = hybrids(n, 5)
    curved = [[sp.Symbol(f"c_{j}{k}", real=True) for k in (1, 2, 3)] for j in range(1, n + 1)]

    def f(*z: Any) -> Any:
        bends = (c * v**k for v, cs in zip(z, curved, strict=True) for k, c in enumerate(cs, 1))
        return interpolation(game)(z[0] ** power, *z[1:]) + sp.Add(*bends)

    corners = {u: game[u] + sp.Add(*(sp.Add(*curved[j - 1]) for j in u)) for u in game}
    ig, phi = integrated_gradients(f, [0] * n, [1] * n), shapley(corners)
    return all(zero(ig[j - 1] - phi[j]) for j in phi), {"IG_1": ig[0], "φ_1": phi[1]}


@statement("section 4, option b")
def ig_mixed(power: int = 2) -> Result:
    """$g = x_1x_2^{%(power)s}$ with binary $x_1$ and real $x_2$ is its own interpolation, and IG from $(0,0)$ to
    $(1,1)$ are not its Shapley values"""
    f = lambda binary, real: binary * real**power  # noqa: E731  multilinear in the binary one already
    ig = integrated_gradients(f, [0, 0], [1, 1])
    phi = list(shapley({u: f(sp.Integer(1 in u), sp.Integer(2 in u)) for u in subsets(2)}).values())
    return phi != ig, {"IG": ig, "φ": phi}
