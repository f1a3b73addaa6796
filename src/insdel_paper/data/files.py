"""Find the real file: in INSDEL_DATA, in the cache, on the network, in that order."""

from __future__ import annotations

import os
import shutil
import threading
import time
from pathlib import Path
from types import ModuleType

import pooch
from tqdm import tqdm

from insdel.errors import UserError
from insdel_paper.provenance import sha256

from . import bangalore, cern

MODULES: dict[str, ModuleType] = {"bangalore": bangalore, "cern": cern}
CERN_URL = "https://opendata.cern.ch/record/304/files/dielectron.csv"
CERN_LEAST_BYTES = 10_000_000
KAGGLE_URL = "https://www.kaggle.com"
KAGGLE_HANDLE = "ruchi798/housing-prices-in-metropolitan-areas-of-india"
QUICK, PATIENT = 4.0, 30.0  # seconds to wait for an answer: within load(), and when asked to fetch
WHOLE = {False: 60.0, True: 1800.0}  # seconds that a whole download may take: within load(), and when asked to fetch
PIECE = 1 << 14  # bytes between two looks at the clock
HOW = {
    "bangalore": (
        f"pip install kagglehub && insdel data fetch bangalore, or download Bangalore.csv from "
        f"{KAGGLE_URL}/datasets/{KAGGLE_HANDLE}"
    ),
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
    files: tuple[str, ...] = MODULES[name].FILES
    if place.is_file():
        return place
    result = next((place / file for file in files if (place / file).is_file()), None)
    if result is None:
        raise FileNotFoundError(f"path must be a file, or a folder with {' or '.join(files)}; found {path}")
    return result


def fetch(name: str, timeout: float = PATIENT) -> Path:
    """Download the real file into the cache and check it; a file that is there already is kept.

    Raises
    ------
    FetchError : no network, no kagglehub, or a file of another size or hash; says what to do
    """
    if name not in MODULES:
        raise UserError(f"name must be one of {', '.join(MODULES)}; found {name!r}")
    target = cache() / MODULES[name].FILES[0]
    if target.is_file():
        return target
    part = target.with_name(target.name + ".part")
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        if name == "bangalore":
            _from_kaggle(part, timeout)
        else:
            _reach(CERN_URL, timeout)
            _download(CERN_URL, part, WHOLE[timeout >= PATIENT], progress=timeout >= PATIENT)
        if wrong := _difference(name, part):
            raise FetchError(f"what was downloaded is not the published file: {wrong}")
        part.replace(target)
    except Exception as error:
        reason = str(error).splitlines()[0] if str(error) else type(error).__name__
        raise FetchError(
            f"could not fetch {name!r}: {reason}. Try {HOW[name]}; then put {target.name} into the folder that "
            "INSDEL_DATA names, or pass its path to load()."
        ) from error
    finally:
        part.unlink(missing_ok=True)
    return target


def fetch_quickly(name: str) -> Path:
    """Download within `load`: waits seconds only, and does not try again in this process after a failure."""
    if name in _failures:
        raise FetchError(_failures[name])
    try:
        return fetch(name, QUICK)
    except FetchError as error:
        _failures[name] = str(error)
        raise


def _reach(url: str, timeout: float) -> None:
    """Fail soon without a network: a time limit on the request alone would not cover the name look-up."""
    outcome: list[BaseException] = []

    def ask() -> None:
        import requests

        try:
            requests.head(url, timeout=timeout, allow_redirects=True)
        except Exception as error:
            outcome.append(error)

    thread, started = threading.Thread(target=ask, daemon=True), time.monotonic()
    thread.start()
    thread.join(timeout)
    if thread.is_alive() or outcome:
        waited = time.monotonic() - started
        raise FetchError(f"no answer from {url.split('/')[2]} after {waited:.1f} s (offline?)")


def _download(url: str, part: Path, limit: float, progress: bool = False) -> None:
    """Write what an address gives to a file, within `limit` seconds altogether: a server may drip for ever."""
    import requests

    started, size = time.monotonic(), 0
    bar = tqdm(unit="B", unit_scale=True, disable=not progress, desc=part.stem)
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
    size = part.stat().st_size
    if size < CERN_LEAST_BYTES:
        return f"{size:,} bytes, at least {CERN_LEAST_BYTES:,} are needed"
    _, counts = cern.read(part)
    if counts["full_size"]:
        return ""
    return (
        f"{counts['rows_read']:,} rows, {counts['rows_dropped']['M is missing']} without M, "
        f"instead of {cern.FULL_ROWS:,} and {cern.FULL_WITHOUT_M}"
    )
