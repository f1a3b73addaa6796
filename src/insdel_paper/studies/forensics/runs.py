"""The runs behind "why are the levels not the paper's": how the networks were trained."""

from __future__ import annotations

from functools import partial

from insdel_paper.records.run import Recording, RunContext, record
from insdel_paper.studies import forensics
from insdel_paper.studies.forensics.changes import variants


def search(
    name: str, context: RunContext, *, candidates: int, pairs: int | None, nearest: int, nearest_pairs: int | None
) -> Recording:
    """Candidates for the authors' training; the nearest again, from another seed and on more pairs; single changes."""
    folder = context.folder / "candidates"
    tables = {
        "candidates": forensics.search(folder, name, candidates, pairs),
        "numbers": forensics.fingerprints(folder),
        "again": forensics.nearest(folder, name, nearest, nearest_pairs),
        "variants": variants(folder, name, nearest_pairs),
    }
    return Recording(tables, (forensics.events() if name == "cern" else forensics.houses()).facts)


PARTS = ("candidates", "numbers", "again", "variants")
record("forensics", "which training prints Tables 2 to 4", PARTS,
       candidates=60, pairs=160, nearest=5, nearest_pairs=500)(partial(search, "cern"))  # fmt: skip
record("forensics_houses", "which training prints Table 1", PARTS,
       candidates=64, pairs=None, nearest=5, nearest_pairs=None)(partial(search, "bangalore"))  # fmt: skip
