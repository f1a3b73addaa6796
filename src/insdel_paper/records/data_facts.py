"""The run that counts what the paper states about the real data files."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from insdel_paper.data.files import data_folder, sha256
from insdel_paper.records.run import Desk, Recording, Run
from insdel_paper.studies import data_facts


def _count(parameters: Mapping[str, Any], desk: Desk) -> Recording:
    folder = data_folder()
    if folder is None:
        raise FileNotFoundError("the facts need the real files: set INSDEL_DATA to their folder.")
    table = data_facts.collect(folder)
    hashes = {name: sha256(folder / name) for name in data_facts.FILES}
    return Recording({"facts": table}, {"data": {"source": "real", "sha256": hashes}})


RUNS = (Run("data_facts", "what the paper states about the data files", {}, ("facts",), _count),)
