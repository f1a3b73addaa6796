"""Memory stays bounded, whatever the number of pairs."""

import os
import subprocess
import sys
import textwrap

import pytest

MEASURE = """
    import resource, sys
    import numpy as np, insdel

    def used():
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024  # MiB

    x, reference = np.random.default_rng(0).normal(size=(2, 500, 20))
    method, options = sys.argv[1], eval(sys.argv[2])
    f = lambda z: np.tanh(z).sum(1)
    insdel.explain(method, f, x[:2], reference[:2], **options)
    before = used()
    insdel.explain(method, f, x, reference, **options)
    print(used() - before)
"""


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="ru_maxrss is counted in KiB on Linux")
@pytest.mark.parametrize("method, options", [
    ("kernel_shap", "dict(samples=100)"),  # 0.7 GB when blocks did not know the number of subsets that are listed
    ("shapley_sampling", "dict(permutations=25)"),
    ("lime", "dict(samples=100)"),
])  # fmt: skip
def test_five_hundred_pairs_of_twenty_features(method, options):
    command = [sys.executable, "-c", textwrap.dedent(MEASURE), method, options]
    done = subprocess.run(command, capture_output=True, text=True, check=True, env=os.environ | {"OMP_NUM_THREADS": "1"})
    assert float(done.stdout) < 300
