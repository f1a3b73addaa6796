"""Find the real file: in INSDEL_DATA, in the cache, on the network, in that order."""

from __future__ import annotations

import contextlib
import os
import shutil
import threading
import time
from pathlib import Path
from types import ModuleType

import pooch
from tqdm import tqdm

from insdel.errors import require_one_of
from insdel.store import atomic
from insdel_paper.provenance import sha256

from . import bangalore, cern

MODULES: dict[str, ModuleType] = {"bangalore": bangalore, "cern": cern}
CERN_URL = "https://opendata.cern.ch/record/304/files/dielectron.csv"
CERN_LEAST_BYTES = 10_000_000
KAGGLE_URL = "https://www.kaggle.com"
KAGGLE_HANDLE = "ruchi798/housing-prices-in-metropolitan-areas-of-india"
QUICK, PATIENT = (4.0, 60.0), (30.0, 1800.0)  # seconds for an answer, for a whole download: in load(), and in fetch()
PIECE = 1 << 14  # bytes between two looks at the clock
HOW = {
    "bangalore": "pip install kagglehub && insdel data fetch bangalore, or download Bangalore.csv from "
    f"{KAGGLE_URL}/datasets/{KAGGLE_HANDLE}",
    "cern": f"insdel data fetch cern, or download {CERN_URL} by other means",
}
_failures: dict[str, str] = {}


class FetchError(OSError):
    """A file could not be downloaded, or what came is not the file."""


def cache() -> Path:
    """Folder that downloads go to: INSDEL_CACHE, else the user's cache folder."""
    return Path(os.environ.get("INSDEL_CACHE") or pooch.os_cache("insdel"))


def data_folder() -> Path | None:
    """Folder that INSDEL_DATA names, None if it is unset.

    Raises
    ------
    FileNotFoundError : it is set, but there is no such folder
    """
    named = os.environ.get("INSDEL_DATA")
    if not named:
        return None
    if not Path(named).is_dir():
        raise FileNotFoundError(f"INSDEL_DATA must name a folder, found {named!r}. Correct or unset it.")
    return Path(named)


def find(name: str) -> Path | None:
    """Look for the file in INSDEL_DATA and in the cache; the full file comes before an excerpt."""
    folders = [folder for folder in (data_folder(), cache()) if folder is not None]
    candidates = [folder / file for file in MODULES[name].FILES for folder in folders]
    return next((path for path in candidates if path.is_file()), None)


def given(name: str, path: str | Path) -> Path:
    """Check what the caller passed: a file, or a folder that holds one of the known names.

    Raises
    ------
    FileNotFoundError : there is nothing; a path that was named is never replaced by something else
    """
    place = Path(path).expanduser()
    known = MODULES[name].FILES
    for candidate in (place, *(place / file for file in known)):
        if candidate.is_file():
            return candidate
    raise FileNotFoundError(f"path must be a file, or a folder with {' or '.join(known)}; found {path}")


def fetch(name: str, seconds: tuple[float, float] = PATIENT) -> Path:
    """Download the real file into the cache and check it; a file that is there already is kept.

    seconds : to wait for an answer, and for the whole file

    Raises
    ------
    FetchError : no network, no kagglehub, or a file of another size or hash; says what to do
    """
    require_one_of("name", name, MODULES)
    target = cache() / MODULES[name].FILES[0]
    if target.is_file():
        return target
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        with atomic(target) as part:
            if name == "bangalore":
                _from_kaggle(part, seconds[0])
            else:
                _reach(CERN_URL, seconds[0])
                _download(CERN_URL, part, seconds[1], progress=seconds == PATIENT)
            if wrong := _difference(name, part):
                raise FetchError(f"what was downloaded is not the published file: {wrong}")
    except Exception as error:
        reason = str(error).splitlines()[0] if str(error) else type(error).__name__
        raise FetchError(
            f"could not fetch {name!r}: {reason}. Try {HOW[name]}; then put {target.name} into the folder that "
            "INSDEL_DATA names, or pass its path to load()."
        ) from error
    return target


def fetch_quickly(name: str) -> Path:
    """Download within `load`: waits seconds only, and does not try again in this process after a failure."""
    if name not in _failures:
        try:
            return fetch(name, QUICK)
        except FetchError as error:
            _failures[name] = str(error)
    raise FetchError(_failures[name])


def _reach(url: str, timeout: float) -> None:
    """Fail soon without a network: a time limit on the request alone would not cover the name look-up."""
    answered = threading.Event()

    def ask() -> None:
        import requests

        with contextlib.suppress(Exception):
            requests.head(url, timeout=timeout, allow_redirects=True)
            answered.set()

    thread = threading.Thread(target=ask, daemon=True)
    thread.start()
    thread.join(timeout)
    if not answered.is_set():
        raise FetchError(f"no answer from {url.split('/')[2]} within {timeout:g} s (offline?)")


def _download(url: str, part: Path, limit: float, progress: bool = False) -> None:
    """Write what an address gives to a file, within `limit` seconds altogether: a server may drip for ever."""
    import requests

    started, size = time.monotonic(), 0
    bar = tqdm(unit="B", unit_scale=True, disable=not progress, desc=url.rpartition("/")[2])
    with bar, part.open("wb") as file, requests.get(url, stream=True, timeout=10.0) as answer:
        answer.raise_for_status()
        for piece in answer.iter_content(PIECE):
            size += file.write(piece)
            bar.update(len(piece))
            if (waited := time.monotonic() - started) > limit:
                raise FetchError(f"only {size / 1e6:.1f} MB came in {waited:.0f} s; {limit:g} s are the limit")


def _from_kaggle(part: Path, timeout: float) -> None:
    try:
        import kagglehub
    except ImportError:
        raise FetchError("kagglehub is not installed") from None
    _reach(KAGGLE_URL, timeout)
    shutil.copyfile(kagglehub.dataset_download(KAGGLE_HANDLE, path="Bangalore.csv"), part)


def _difference(name: str, part: Path) -> str:
    """What is wrong with a downloaded file, "" if nothing: by its hash, or where none is on record by its counts."""
    if name == "bangalore":
        result, known = sha256(part), bangalore.SHA256["Bangalore.csv"]
        return "" if result == known else f"sha256 {result} instead of {known}"
    if (size := part.stat().st_size) < CERN_LEAST_BYTES:
        return f"{size:,} bytes, at least {CERN_LEAST_BYTES:,} are needed"
    _, counts = cern.read(part)
    found = f"{counts['rows_read']:,} rows, {counts['rows_dropped']['M is missing']} without M"
    return "" if counts["full_size"] else f"{found}, instead of {cern.FULL_ROWS:,} and {cern.FULL_WITHOUT_M}"
