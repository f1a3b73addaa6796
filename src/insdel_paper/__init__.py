"""The paper, done again: its tables as data, its datasets, networks and theory, the studies, records and claims.

Builds on `insdel` only. Inside, imports go one way: printed, results, data, networks, theory ← records ← studies ←
claims; figures may use any of them.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach(
    __name__,
    submodules={"claims", "data", "figures", "networks", "printed", "records", "results", "studies", "theory"},
    submod_attrs={"printed": ["DIFFERENCE", "PAIRS", "QUANTILES", "SIX", "TABLES", "size", "table"]},
)
