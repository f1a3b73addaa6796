"""Look into the files that parameters name, before anything runs: a kernel takes seconds to start, a mistake none."""

from __future__ import annotations

import socket
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from insdel.errors import UserError
from insdel_book.parameters import Parameter

LIKE = {"Bangalore.csv": "bangalore", "dielectron.csv": "cern"}
ANSWER = 1.0  # seconds that a scheduler has to answer


def inspect_values(parameters: Mapping[str, Parameter], values: Mapping[str, Any]) -> None:
    """Refuse tables, models, photos and addresses that cannot be used, by loading them as the chapter will.

    values : checked already by `check_values`; only what the user set
    """
    for name, value in values.items():
        if value is not None and parameters[name].range.like:
            _read_like(name, value, LIKE[parameters[name].range.like])
    if values.get("csv") is not None:
        from insdel.own import table

        options = {name: values[name] for name in ("drop", "keep", "task", "positive") if name in values}
        table.read(values["csv"], values.get("target"), **options)
    elif values.get("target") is not None:
        raise UserError("target needs csv, the table that has this column. Add -p csv FILE.")
    if str(values.get("model", "")).endswith(".safetensors"):
        check_header(Path(values["model"]))
    if values.get("scheduler"):
        reach(values["scheduler"])
    if "network" in parameters and values.get("label") is not None:
        from insdel_paper.studies.images import find_class

        find_class(values["label"])
    if values.get("device") == "cuda":
        from insdel.own.devices import pick_device

        pick_device("cuda")
    if Path(str(values.get("photo", ""))).is_file():
        _open_picture(Path(values["photo"]))


def _read_like(name: str, path: str, data_set: str) -> None:
    """Read a table that must have the columns of a known one."""
    from insdel_paper.data import DataError, files

    try:
        files.MODULES[data_set].read(files.given(data_set, path))
    except (DataError, FileNotFoundError) as error:
        raise UserError(f"parameter {name!r}: {error}") from None


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
        raise UserError(f"parameter 'scheduler': no scheduler answers at {address} ({error}). Is it running?") from None


def _open_picture(path: Path) -> None:
    """Refuse a photo that is none."""
    from PIL import Image

    try:
        with Image.open(path) as picture:
            picture.verify()
    except Exception as error:  # Pillow's plugins raise whatever they like
        raise UserError(f"parameter 'photo': {path.name} cannot be read as a picture ({error}).") from None
