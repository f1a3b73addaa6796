"""One class's probability of a scikit-learn-like classifier, as a function with one number per row."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from insdel.errors import UserError, UserTypeError
from insdel.evaluate import Pairs, at_x


@dataclass(frozen=True, eq=False)
class Probability:
    """P(class k) as a function of rows; k None: of the class that is predicted at x, for `insdel.compare`."""

    classifier: Any
    k: int | None

    @property
    def feature_names_in_(self) -> Any:
        """Names of the columns that the classifier was fitted to, if it knows them."""
        return getattr(self.classifier, "feature_names_in_", None)

    def __call__(self, rows: Any) -> np.ndarray:
        """Predict (m,) probabilities for m rows."""
        if self.k is None:
            raise UserError('proba(classifier, "predicted") is for insdel.compare; elsewhere name a class.')
        table = np.asarray(self.classifier.predict_proba(rows))
        if table.ndim != 2 or self.k >= table.shape[1]:
            raise UserError(f"class {self.k} was asked for, but predict_proba gave the shape {table.shape}.")
        return np.asarray(table[:, self.k])

    def classes(self, pairs: Pairs) -> np.ndarray:
        """The class of each pair, (pairs,): k or, where k is None, that with the largest probability at x."""
        if self.k is not None:
            return np.full(len(pairs), self.k)
        count = len(self.classifier.classes_)
        return np.stack([at_x(replace(self, k=k), pairs) for k in range(count)], axis=1).argmax(axis=1)


def proba(classifier: Any, k: int | str) -> Probability:
    """Return the probability of a class, as a model for `insdel.compare`, `curve`, `explain` and `Lattice`.

    Parameters
    ----------
    classifier : anything fitted with `predict_proba` and `classes_`
    k : the number of a class, counted from 0; or "predicted", for each pair the class that is predicted at x
    """
    if not hasattr(classifier, "predict_proba") or not hasattr(classifier, "classes_"):
        raise UserTypeError(f"proba needs a fitted classifier with predict_proba; found a {type(classifier).__name__}.")
    if k == "predicted":
        return Probability(classifier, None)
    count = len(classifier.classes_)
    if isinstance(k, bool) or not isinstance(k, int | np.integer) or not 0 <= k < count:
        raise UserError(f'k must be a class from 0 to {count - 1}, or "predicted"; found {k!r}.')
    return Probability(classifier, int(k))
