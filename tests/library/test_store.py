"""Chunks of finished work: in order, computed once, kept in files."""

import pandas as pd
import pytest

from insdel.store import Store, atomic


def test_chunks_are_computed_once_and_come_in_order(tmp_path):
    asked = []

    def work(part):
        asked.append((part.start, part.stop))
        return pd.DataFrame({"item": range(part.start, part.stop)})

    for folder in (None, tmp_path):
        asked.clear()
        store = Store(folder, lambda: {"what": "counting"})
        for _ in range(2):
            tables = store.chunks(7, 3, work, progress=False)
            assert [table["item"].tolist() for table in tables] == [[0, 1, 2], [3, 4, 5], [6]]
        assert asked == [(0, 3), (3, 6), (6, 7)]
    Store(tmp_path, lambda: {"what": "counting"}).chunks(7, 3, work, progress=False)
    assert len(asked) == 3  # another process finds the files


def test_a_file_is_written_whole_or_not_at_all(tmp_path):
    path = tmp_path / "note.txt"
    path.write_text("before")
    with pytest.raises(RuntimeError), atomic(path) as partial:
        partial.write_text("half")
        raise RuntimeError
    assert path.read_text() == "before" and list(tmp_path.iterdir()) == [path]
    with atomic(path) as partial:
        partial.write_text("after")
    assert path.read_text() == "after" and list(tmp_path.iterdir()) == [path]
