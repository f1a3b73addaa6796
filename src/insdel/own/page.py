"""`insdel report`: explanations of a model of one's own on a table of one's own, graded on one page."""

from __future__ import annotations

import warnings
from argparse import Namespace
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from insdel import policies
from insdel.attribution import METHODS
from insdel.attribution.own import Attributions, attributions
from insdel.comparison import ANY_MODEL, SAMPLES, compare
from insdel.errors import UserError, listed, require_integer
from insdel.evaluate import predict
from insdel.frames import fitted_names
from insdel.lattice import MAX_FEATURES
from insdel.own import models
from insdel.own.models import Subject
from insdel.own.table import Problems, Table, read, read_file, select_features
from insdel.probability import Probability
from insdel.report import CONTROLS, check_name, write_report

BESIDE = ("kernel_shap", "lime", "random")  # what attributions of one's own are compared with
INSPECTED = 2000  # rows among which a counterfactual is looked for


def write(asked: Namespace) -> tuple[Path, list[str]]:
    """Grade explanations of a model on a CSV file; return the page and what was noticed on the way.

    asked : the options of `insdel report`, as its help explains them. A file of attributions has a row for each row of
        the data, or a column "row" that names rows of it, and columns by name; or it is one ranking for all rows: a
        single row, or two columns (feature, value)
    """
    problems = Problems()
    with problems.gathered():
        check_name(asked.output)
    for name, least in (("rows", 2), ("seed", 0)):
        with problems.gathered():
            require_integer(name, getattr(asked, name), least)
    files: dict[str, Path] = {}
    for text in asked.attributions:  # FILE or LABEL=FILE
        label, file = text.split("=", 1) if "=" in text else (Path(text).stem, text)
        if not Path(file).is_file():
            problems.append(f"attributions need an existing CSV file; found none at {Path(file)}.")
        if label in files:
            problems.append(f"two files of attributions are called {label!r}; write LABEL=FILE for each.")
        if label in CONTROLS:
            problems.append(f"attributions cannot be called {label!r}, a control of the test; write LABEL=FILE.")
        files[label] = Path(file)
    if files and asked.sign is None:
        problems.append(
            "attributions need a sign: shap (what x's own value adds, as shap, captum and lime write it), change (the "
            "effect of changing x to x′) or absolute (importances without a direction)."
        )
    if asked.background is not None and asked.reference != "typical":
        problems.append("--background, an average over rows, takes the place of --reference. Give one of them.")
    loaded: Any = None
    with problems.gathered():
        loaded = models.load(asked.model)
    categorical = [*models.categorical_columns(loaded), *asked.categorical]
    with problems.gathered():
        table = read(asked.data, asked.target, drop=asked.drop, keep=asked.keep, categorical=categorical,
                     fitted=fitted_names(loaded))  # fmt: skip
    parts = [text.partition("=") for text in asked.groups]
    groups = {name: [column.strip() for column in columns.split(",")] for name, _, columns in parts}
    wrong = ["".join(part) for part in parts if not all(part)]
    if wrong:
        problems.append(f"a group is written NAME=COLUMN,COLUMN; found {', '.join(wrong)}.")
    if len(groups) < len(parts):
        problems.append(f"each group needs a name of its own; found {', '.join(name for name, *_ in parts)}.")
    problems.refuse()
    subject = models.prepare(loaded, table, Path(asked.model).name, asked.positive)
    page, cautions = _grade(subject, table, files, groups, asked)
    return page, [table.what, *table.notes, *subject.notes, *cautions]


def _grade(
    subject: Subject, table: Table, files: dict[str, Path], groups: dict[str, list[str]], asked: Namespace
) -> tuple[Path, list[str]]:
    """Choose rows and what they are compared with, compare, and write the page; warnings come back, too."""
    problems, brought = Problems(), {}
    for label, path in files.items():
        with problems.gathered():
            brought[label] = _brought(path, subject.features, groups, len(table.features))
    unknown = [name for part in groups.values() for name in part if name not in subject.features]
    if unknown:
        problems.append(f"groups name columns that are no features: {', '.join(unknown)}.")
    rows = subject.features
    for part in brought.values():
        rows = rows.loc[rows.index.isin(part.index)] if isinstance(part, pd.DataFrame) else rows
    with problems.gathered():
        x, reference, background, words = _choose(subject, rows, asked)
    problems.refuse()
    own = {label: _attributions(part, subject, x, str(asked.sign)) for label, part in brought.items()}
    known = {f"{METHODS[name].title} (built in)" if name in own else name: name for name in BESIDE}
    methods = {**own, **known} if own else dict(zip(ANY_MODEL, ANY_MODEL, strict=True))
    players = x.shape[1] - sum(len(part) - 1 for part in groups.values())
    work = 2 ** min(players, MAX_FEATURES) * len(x) * (1 if background is None else len(background))
    if work > 10**9 and players <= MAX_FEATURES:
        raise UserError(
            f"{players} features or groups, {len(x)} rows and this background need {work:.1e} predictions. Ask for "
            "fewer --rows or a smaller --background, or put columns into --groups."
        )
    sampled = [label for label, source in methods.items() if source == "kernel_shap" and players > MAX_FEATURES]
    options = {label: {"samples": SAMPLES} for label in sampled}
    with warnings.catch_warnings(record=True) as heard:
        warnings.simplefilter("always", UserWarning)
        result = compare(subject.f, x, reference, methods, background=background, groups=groups or None,
                         options=options, seed=asked.seed)  # fmt: skip
    home = str(Path(__file__).parents[1])  # what f itself warns of, such as names of columns, is not on the page
    ours = [warning for warning in heard if warning.category is UserWarning and warning.filename.startswith(home)]
    cautions = list(dict.fromkeys(str(warning.message) for warning in ours))
    about = [text for text in (Path(asked.model).name, subject.output, subject.quality(table.target)) if text]
    drawn = f"{len(x)} of {len(rows)}, drawn at random with seed {asked.seed}" * (len(x) < len(rows)) or f"all {len(x)}"
    facts = {"Data": table.what, "Model": "; ".join(about), "Reference": words,
             "Graded rows": f"{drawn}; row 1 is the line below the header"}  # fmt: skip
    if files:
        facts["Attributions"] = ", ".join(f"{label} from {path.name}" for label, path in files.items())
    title = f"Which explanation of {table.target.name} ranks the features best?"
    return write_report(result, asked.output, title, facts, [*table.notes, *subject.notes], cautions, words), cautions


def _brought(path: Path, features: pd.DataFrame, groups: dict[str, list[str]], rows: int) -> pd.DataFrame | pd.Series:
    """Attributions as a frame whose index counts the table's rows from 1, or one ranking for all rows as a series."""
    frame = read_file(path)[0]
    if "row" in frame and "row" not in features:
        frame = frame.set_index("row")
    together = {name for part in groups.values() for name in part}
    players = [*groups, *(name for name in features if name not in together)]
    wanted = next((names for names in (list(features), players) if set(names) <= set(frame)), None)
    if wanted is None and frame.shape[1] == 2 and set(map(str, frame.iloc[:, 0])) >= set(features):
        frame, wanted = frame.set_axis(frame.iloc[:, 0].astype(str)).iloc[:, 1:].T, list(features)
    if wanted is None:
        missing = [name for name in features if name not in frame]
        raise UserError(f"{path.name} needs the columns of the features; missing: {listed(missing)}.")
    values = frame[wanted].apply(pd.to_numeric, errors="coerce")
    text = (values.isna() & frame[wanted].notna()).any()
    if text.any():
        raise UserError(f"{path.name} needs numbers; found text in {listed(list(text[text].index))}.")
    if len(frame) == 1:
        return values.iloc[0].astype(float)
    if frame.index.name != "row" and len(frame) != rows:
        raise UserError(
            f"{path.name} needs a row for each of the {rows} rows of the table, or a column 'row' that says which they "
            f"are (row 1 is the line below the header); found {len(frame)} rows."
        )
    others = list(frame.index[~frame.index.isin(range(1, rows + 1))].unique())
    if others or not frame.index.is_unique:
        raise UserError(
            f"the column 'row' of {path.name} must name rows of the table, each once, from 1 (right below the header) "
            f"to {rows}; found {listed(others) if others else 'rows twice'}. If it counts from 0, as in pandas, add 1."
        )
    return values


def _attributions(part: pd.DataFrame | pd.Series, subject: Subject, x: pd.DataFrame, sign: str) -> Attributions:
    """The attributions of the graded rows; where they add up to f(x) minus a constant, it is what they start from."""
    values = part if isinstance(part, pd.Series) else part.loc[x.index]
    if sign == "absolute":
        return attributions(values, ranking="absolute")
    given = attributions(values, sign=sign)
    if isinstance(part, pd.Series) or (isinstance(subject.f, Probability) and subject.f.k is None):
        return given
    start = np.asarray(predict(subject.f, x))
    base = start + given.values.sum(axis=1)  # noqa: PD011, no data frame
    constant = base.std() < 0.01 * max(start.std(), 1e-12)
    return replace(given, base=np.full(len(x), base.mean())) if constant else given


def _choose(subject: Subject, rows: pd.DataFrame, asked: Namespace) -> tuple[pd.DataFrame, Any, Any, str]:
    """Graded rows, their references or the background, and in words what these are."""
    if not len(rows):
        raise UserError("the files of attributions need a row in common, one that the model takes.")
    order = np.random.default_rng(asked.seed).permutation(len(rows))
    x = rows.iloc[np.sort(order[: asked.rows])]
    if asked.background is not None and asked.background.isdigit():
        count = int(asked.background)
        if not 1 <= count <= len(subject.features):
            raise UserError(f"background needs 1 to {len(subject.features)} rows of the table; found {count}.")
        others = subject.features.drop(index=x.index)  # rows of x only where there are no others
        others = others if len(others) >= count else subject.features
        words = f"the average over {count} rows of the table, drawn at random"
        return x, None, others.sample(count, random_state=asked.seed % 2**32).sort_index(), words
    if asked.background is not None:
        path = Path(asked.background)
        some = _background(path, subject)
        return x, None, some, f"the average over {len(some)} rows of {path.name}"
    if asked.reference == "typical":
        words = "a typical row: the median of every number and date, the commonest of all other values"
        return x, typical(subject.features), None, words
    if asked.reference == "one_to_one":
        points, words = x, "another row of the table, drawn at random"
        pairs = policies.one_to_one(points, asked.seed)
    else:
        words = "a similar row of the table that differs in at least half of its features and is predicted differently"
        kinds = {name: getattr(kind, "categories", kind) for name, kind in rows.dtypes.items()}
        text = [name for name, kind in kinds.items() if not pd.api.types.is_numeric_dtype(kind)]
        if text:
            raise UserError(f"a counterfactual reference needs numbers, so choose another one, or drop {listed(text)}.")
        points = rows.iloc[np.sort(order[:INSPECTED])].astype(float)
        center, width, types = points.mean(), points.std(ddof=0).replace(0, 1), rows.dtypes
        pairs = policies.counterfactual(
            lambda z: np.asarray(predict(subject.f, (z * width + center).round(9).astype(types))),
            (points - center) / width, at_least=-(-points.shape[1] // 2),
        )  # fmt: skip
    if not len(pairs):
        raise UserError("no row has a reference that differs in half of its features. Choose another reference.")
    kept = (points.index[np.asarray(part)[: asked.rows]] for part in (pairs.index, pairs.reference_index))
    x, other = (rows.loc[labels] for labels in kept)
    return x, other.set_axis(x.index), None, words


def _background(path: Path, subject: Subject) -> pd.DataFrame:
    """The rows of a file as the model takes them; numbers keep the type that they have there."""
    some, types, problems = read_file(path)[0], subject.features.dtypes, Problems()
    missing = [name for name in subject.features if name not in some]
    if missing or not len(some):
        found = f"found {len(some)} rows; missing: {listed(missing)}"
        raise UserError(f"{path.name} needs rows with the columns of the features; {found}.")
    some, _ = select_features(some, set(), list(subject.features), problems)
    for name, kind in types.items():
        column = some[name].dropna()
        fits = kind.kind == "O" or column.dtype.kind in ("M" if kind.kind == "M" else "biuf")
        if not fits or not column.isin(getattr(kind, "categories", column)).all():
            problems.append(f"{path.name} needs values of {name} such as those of the table.")
    problems.refuse()
    try:
        some = some.astype({name: kind for name, kind in types.items() if kind.kind in "MO"})
        predict(subject.f, some)
    except Exception as error:  # a user's model may raise anything
        raise UserError(f"the model failed on the rows of {path.name}: {error}") from error
    return some


def typical(features: pd.DataFrame) -> pd.DataFrame:
    """One row, (1, n): the lower median of every number and date, the commonest of all other values."""

    def middle(column: pd.Series) -> Any:
        ordered = pd.api.types.is_numeric_dtype(column) and not pd.api.types.is_bool_dtype(column)
        if ordered or pd.api.types.is_datetime64_any_dtype(column):
            return column.quantile(0.5, interpolation="lower")
        return column.mode().iloc[0]

    return pd.DataFrame({name: pd.Series([middle(column)], dtype=column.dtype) for name, column in features.items()})
