"""Columns of text as `read_csv` gives them reach f as text, gaps as gaps."""

from __future__ import annotations

from io import StringIO

import numpy as np
import pandas as pd
import pytest

from insdel.evaluate import predict


@pytest.mark.parametrize("gap", ["", "north"])
def test_text_from_a_file_reaches_f_unchanged(gap: str) -> None:
    frame = pd.read_csv(StringIO(f"area,town\n1,south\n2,{gap}\n3,east\n"))
    seen = []

    def f(rows: pd.DataFrame) -> np.ndarray:
        seen.append(rows)
        return rows["area"] + (rows["town"] == "east")

    np.testing.assert_array_equal(predict(f, frame), [1, 2, 4])
    pd.testing.assert_frame_equal(seen[-1], frame.astype({"area": seen[-1]["area"].dtype}))
