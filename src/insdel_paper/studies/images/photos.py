"""Open a photo, whatever its format, and bring it to the form that a network takes."""

from __future__ import annotations

from dataclasses import dataclass
from difflib import get_close_matches
from functools import cache
from importlib.resources import files
from pathlib import Path

import numpy as np
import torch
from PIL import Image, ImageOps, UnidentifiedImageError
from torch import Tensor

from insdel.errors import UserError
from insdel_paper.studies.images.network import Preprocessing

EMBEDDED = {"coffee": "coffee.png", "cat": "chelsea.png", "rocket": "rocket.jpg", "astronaut": "astronaut.png"}
SMALLEST = 32  # pixels of the shorter side: below, enlarging invents nearly everything


@dataclass(frozen=True)
class Photo:
    """An upright RGB picture, its name, and what was done to make it one."""

    picture: Image.Image
    name: str
    notes: tuple[str, ...] = ()

    def square(self, how: Preprocessing) -> Tensor:
        """The part that the network sees: (3, size, size) in [0, 1]."""
        return to_tensor(crop(self.picture, how.resize, how.size))


def open_photo(source: str | Path) -> Photo:
    """Open an image file, or by name one of the photos inside the scikit-image wheel (`EMBEDDED`).

    Raises
    ------
    FileNotFoundError : there is no such file
    UserError : it is not an image, is damaged, or is too small
    """
    name = str(source)
    try:
        path = Path(str(files("skimage.data") / EMBEDDED[name])) if name in EMBEDDED else Path(source).expanduser()
    except ModuleNotFoundError:
        raise FileNotFoundError(
            f"the photo {name!r} is in the scikit-image wheel, which is not installed. "
            'Run: pip install "insdel[images]"'
        ) from None
    if not path.is_file():
        known = ", ".join(EMBEDDED)
        raise FileNotFoundError(f"an image file, or one of {known}, is needed; {source} is neither. Check the path.")
    try:
        with Image.open(path) as opened:
            opened.load()
            picture, notes = upright_rgb(opened)
    except UnidentifiedImageError:
        raise UserError(f"{path.name} is not an image that Pillow can read. Pass a JPEG, PNG, WebP or TIFF.") from None
    except (OSError, SyntaxError, Image.DecompressionBombError) as error:
        raise UserError(f"{path.name} cannot be read as an image: {error}. Is the file complete?") from error
    if min(picture.size) < SMALLEST:
        size = " × ".join(map(str, picture.size))
        raise UserError(f"{path.name} has {size} pixels; each side needs at least {SMALLEST}. Pass a larger image.")
    return Photo(picture, name if name in EMBEDDED else path.name, notes)


def upright_rgb(picture: Image.Image) -> tuple[Image.Image, tuple[str, ...]]:
    """Turn a picture as its EXIF says and convert it to RGB; the notes say what was done."""
    notes = []
    if getattr(picture, "n_frames", 1) > 1:
        notes.append(f"first of {picture.n_frames} frames taken")  # type: ignore[attr-defined]
    turned = ImageOps.exif_transpose(picture)
    if picture.getexif().get(0x0112, 1) not in (0, 1):
        notes.append("turned upright, as its EXIF orientation says")
    if turned.mode in ("RGBA", "LA", "PA", "La", "RGBa") or "transparency" in turned.info:
        notes.append("transparent parts laid on white")
        layer = turned.convert("RGBA")
        turned = Image.alpha_composite(Image.new("RGBA", layer.size, "white"), layer).convert("RGB")
    if turned.mode[0] in "1LIF":
        notes.append("grey turned into three equal channels")
        if turned.mode not in ("1", "L"):  # 16 or 32 bits are scaled to 0 … 255; Pillow would cut them off
            values = np.asarray(turned, dtype=np.float64)
            top = 65535.0 if turned.mode.startswith("I;16") else max(float(values.max()), 1e-12)
            turned = Image.fromarray((np.clip(values / top, 0, 1) * 255).round().astype(np.uint8))
    elif turned.mode not in ("RGB", "P"):
        notes.append(f"converted from {turned.mode} to RGB")
    return turned.convert("RGB"), tuple(notes)


def crop(picture: Image.Image, resize: int | None, size: int) -> Image.Image:
    """Bring the shorter side to `resize` pixels (bicubic; None: as it is) and cut out the central `size` × `size`."""
    width, height = picture.size
    shorter = min(width, height)
    if resize is not None:
        picture = picture.resize((resize * width // shorter, resize * height // shorter), Image.Resampling.BICUBIC)
    elif shorter < size:
        raise UserError(
            f"cutting out {size} × {size} pixels needs a photo at least as large, but this one has {width} × {height}. "
            "Let it be resized first."
        )
    left, top = (round((side - size) / 2) for side in picture.size)
    return picture.crop((left, top, left + size, top + size))


def to_tensor(picture: Image.Image) -> Tensor:
    """RGB picture → (3, height, width) in [0, 1]."""
    return torch.from_numpy(np.array(picture)).permute(2, 0, 1).float() / 255


@cache
def class_names() -> tuple[str, ...]:
    """Short names of the 1,000 ImageNet classes, in the networks' order."""
    text = (files("insdel_paper.studies.images") / "imagenet_classes.txt").read_text(encoding="utf-8")
    return tuple(text.splitlines())


def find_class(label: int | str) -> int:
    """Return the number of a class, given by its number or its name.

    Raises
    ------
    UserError : no such class; names the nearest
    """
    names = class_names()
    if isinstance(label, int) or label.isdigit():
        if not 0 <= int(label) < len(names):
            raise UserError(f"a class number must be from 0 to {len(names) - 1}, but it is {label}.")
        return int(label)
    wanted = label.strip().lower().replace("_", " ")
    numbers = {name.lower(): number for number, name in enumerate(names)}
    if wanted in numbers:
        return numbers[wanted]
    hints = [name for name in numbers if wanted in name.split()][:4] + get_close_matches(wanted, numbers, 4, 0.5)
    found = f"Did you mean {', '.join(dict.fromkeys(hints))}?" if hints else ""
    raise UserError(f"unknown class {label!r}. {found or 'Pass a number, 0 to 999, or a name in class_names().'}")
