"""The run behind the chapter on trees: packages against the model, certified gaps, a wide real table, pairs in bulk."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from insdel_paper.records.run import Desk, Recording, Run
from insdel_paper.studies import trees
from insdel_paper.studies.tree_packages import package_errors


def _trees(parameters: Mapping[str, Any], desk: Desk) -> Recording:
    scores, facts = trees.wide_table(parameters["wide_pairs"])
    tables = {
        "packages": package_errors(parameters["package_pairs"]),
        "gaps": trees.certified_gaps(parameters["features"], parameters["gap_pairs"], parameters["seconds"]),
        "scores": scores,
        "facts": facts,
        "bulk": trees.in_bulk(parameters["bulk_rows"], parameters["searched"]),
    }
    return Recording(tables, {"data": "simulated, and modeldata's Chicago"})


SIZE = {"package_pairs": 30, "features": 40, "gap_pairs": 2, "seconds": 8.0, "wide_pairs": 40, "bulk_rows": 300,
        "searched": 2}  # fmt: skip
TABLES = ("packages", "gaps", "scores", "facts", "bulk")
RUNS = (Run("trees", "tree ensembles: packages, certified gaps, a wide table, pairs in bulk", SIZE, TABLES, _trees),)
