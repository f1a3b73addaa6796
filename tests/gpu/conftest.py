"""The pretended device as a fixture, and points of every kind."""

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))

from pretend import pretended_cuda


@pytest.fixture
def cuda():
    """A CUDA device that is not there, for the length of a test."""
    with pretended_cuda() as device:
        yield device
