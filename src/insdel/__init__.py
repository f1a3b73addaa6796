"""insdel: insertion and deletion tests, to measure how well an explanation ranks the features.

The modules beside this file are the library; `own` is for a table and a model of your own. `insdel_paper` and
`insdel_book` are built on it and never used by it.
Everything is loaded when it is first used.
"""

import lazy_loader

__version__ = "0.2.0"

__getattr__, __dir__, __all__ = lazy_loader.attach(
    __name__,
    submodules={"chance", "examples", "plots", "policies", "stats"},
    submod_attrs={
        "attribution": ["METHODS", "estimate_shapley", "explain"],
        "attribution.own": ["attributions"],
        "beam": ["beam_order"],
        "comparison": ["Comparison", "compare"],
        "curves": ["abc", "auc", "auc_trapezoid", "auc_unit", "aul", "curve", "order"],
        "errors": ["UserError"],
        "lattice": ["Lattice", "lattices"],
        "modules": ["output"],
        "probability": ["proba"],
        "stats": ["summary"],
        "trees": ["Trees"],
    },
)
