"""Look into the files that parameters name, before anything runs: a kernel takes seconds to start, a mistake none."""

from __future__ import annotations

import socket
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from insdel.errors import UserError
from insdel_book.parameters import Parameter
from insdel_book.ranges import Either, File, Range

LIKE = {"Bangalore.csv": "bangalore", "dielectron.csv": "cern"}
ANSWER = 1.0  # seconds that a scheduler has to answer


def inspect_values(parameters: Mapping[str, Parameter], values: Mapping[str, Any]) -> None:
    """Refuse tables, models, photos and addresses that cannot be used.

    values : checked already by `check_values`; only what the user set
    """
    for name, value in values.items():
        like = _like(parameters[name].range)
        if value is not None and like:
            _known_table(name, value, LIKE[like])
    if values.get("csv") is not None:
        _own_table(values)
    elif values.get("target") is not None:
        raise UserError("target needs csv, the table that has this column. Add -p csv FILE.")
    if str(values.get("model", "")).endswith(".safetensors"):
        check_header(Path(values["model"]))
    if values.get("scheduler"):
        reach(values["scheduler"])
    if "network" in parameters and values.get("label") is not None:
        _class(values)
    if values.get("device") == "cuda":
        _gpu()
    if Path(str(values.get("photo", ""))).is_file():
        _picture(Path(values["photo"]))


def _like(allowed: Range) -> str:
    """The known table that a file must be like; empty if there is none."""
    parts = allowed.parts if isinstance(allowed, Either) else (allowed,)
    return next((part.like for part in parts if isinstance(part, File) and part.like), "")


def _known_table(name: str, path: str, data_set: str) -> None:
    """Read the table as the chapter will."""
    from insdel_paper.data import DataError, files

    try:
        files.MODULES[data_set].read(files.given(data_set, path))
    except (DataError, FileNotFoundError) as error:
        raise UserError(f"parameter {name!r}: {error}") from None


def _own_table(values: Mapping[str, Any]) -> None:
    """Read the reader's own table as the chapter will."""
    from insdel.own import table

    options = {name: values[name] for name in ("drop", "keep", "task", "positive") if name in values}
    table.read(values["csv"], values.get("target"), **options)


def check_header(path: Path) -> None:
    """Refuse a file that is no safetensors: its first eight bytes say how long its header is."""
    size = path.stat().st_size
    with path.open("rb") as file:
        header = int.from_bytes(file.read(8), "little")
    if size < 8 or header > size - 8:
        raise UserError(
            f"{path.name} must be a safetensors file; it has {size} bytes but announces a header of {header}. "
            "Is it complete?"
        )


def reach(address: str) -> None:
    """Refuse a scheduler that does not answer."""
    host, _, port = address.partition("://")[2].rpartition(":")
    try:
        socket.create_connection((host, int(port)), ANSWER).close()
    except (OSError, ValueError, OverflowError) as error:
        raise UserError(f"parameter 'scheduler': nobody answers at {address} ({error}). Is the cluster up?") from None


def _class(values: Mapping[str, Any]) -> None:
    """Refuse a class that the networks do not know."""
    from insdel_paper.studies.images import find_class

    find_class(values["label"])


def _gpu() -> None:
    """Refuse a GPU that is not there."""
    from insdel.own.devices import pick_device

    pick_device("cuda")


def _picture(path: Path) -> None:
    """Refuse a photo that is none."""
    from PIL import Image

    try:
        with Image.open(path) as picture:
            picture.verify()
    except Exception as error:  # Pillow's plugins raise whatever they like
        raise UserError(f"parameter 'photo': {path.name} cannot be read as a picture ({error}).") from None
