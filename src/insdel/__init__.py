"""insdel: insertion and deletion tests, to measure how well an explanation ranks the features."""

from insdel import datasets, models, paper, policies, symbolic
from insdel.attribution import METHODS, explain
from insdel.compare import compare
from insdel.curves import abc, auc, auc_trapezoid, auc_unit, aul, curve, order
from insdel.lattice import Lattice, lattices
from insdel.summaries import summary

__version__ = "0.1.0"

__all__ = [
    "METHODS",
    "Lattice",
    "__version__",
    "abc",
    "auc",
    "auc_trapezoid",
    "auc_unit",
    "aul",
    "compare",
    "curve",
    "datasets",
    "explain",
    "lattices",
    "models",
    "order",
    "paper",
    "policies",
    "summary",
    "symbolic",
]
