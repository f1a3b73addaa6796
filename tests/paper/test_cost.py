"""Cost and accuracy: evaluations are counted, areas are those of the methods, errors are paired."""


import numpy as np
import pandas as pd
import pytest
import torch

import insdel
from insdel_paper import results
from insdel_paper.studies.cost import BUDGETS, ONE_PRICE, cost_accuracy, smallest_budget


@pytest.fixture(scope="module")
def case():
    torch.manual_seed(0)
    f = torch.nn.Sequential(torch.nn.Linear(8, 32), torch.nn.Tanh(), torch.nn.Linear(32, 1)).double()
    f[2].weight.data *= 20
    x, reference = np.random.default_rng(0).normal(size=(2, 25, 8))
    budgets = {"kernel_shap": [32, 256], "integrated_gradients": [5, 50], "lime": [25, 400], "shapley_sampling": [3]}
    return f, x, reference, cost_accuracy(f, x, reference, budgets=budgets, progress=False)


def test_evaluations_are_what_f_was_asked(case):
    spent = case[-1].groupby(["method", "budget"]).evaluations.first()
    assert case[-1]["seconds"].between(0, 60, inclusive="neither").all()
    assert spent["kernel_shap", 256] == 256 and spent["kernel_shap", 32] == 32
    assert spent["integrated_gradients", 50] == 50 and spent["lime", 400] == 400
    assert spent["shapley_sampling", 3] == 3 * 7 + 2
    assert not case[0]._forward_hooks and not case[0]._forward_pre_hooks


def test_areas_are_those_of_the_methods(case):
    f, x, reference, table = case
    A = insdel.explain("integrated_gradients", f, x, reference, steps=5)
    for mode in insdel.curves.MODES:
        area = insdel.abc(insdel.curve(f, x, reference, insdel.order(A, mode)), mode, per_feature=True)
        row = table.query("method == 'integrated_gradients' and budget == 5 and mode == @mode").iloc[0]
        assert row.abc_per_feature == pytest.approx(area.mean())
        assert row.se == pytest.approx(area.std(ddof=1) / 5)


def test_shortfall_is_paired_with_the_first_methods_largest_budget(case):
    table = case[-1].set_index(["method", "budget", "mode"]).sort_index()
    assert (table.loc["kernel_shap", 256][["shortfall", "shortfall_se"]] == 0).all().all()
    best = table.loc["kernel_shap", 256].abc_per_feature
    for key, row in table.iterrows():
        assert row.shortfall == pytest.approx(best[key[2]] - row.abc_per_feature)
    lime = table.xs("insertion", level="mode").loc["lime"].shortfall
    assert lime[400] < lime[25]


def test_functions_are_counted_as_modules_are(case):
    f, x, reference, table = case
    again = cost_accuracy(lambda z: f(z), torch.tensor(x), torch.tensor(reference), budgets={"kernel_shap": [32]},
                          progress=False)  # fmt: skip
    assert (again.evaluations == 32).all() and np.allclose(again.abc_per_feature, table.abc_per_feature[:2])


def test_one_pair_has_no_standard_error(case):
    f, x, reference, _ = case
    table = cost_accuracy(f, x[0], reference[0], budgets={"lime": [25]}, progress=False)
    assert table.se.isna().all() and table.abc_per_feature.notna().all()


def test_the_budgets_are_those_of_the_record():
    recorded = results.about("cost")["parameters"]["budgets"]
    assert recorded == {name: list(sizes) for name, sizes in (BUDGETS | ONE_PRICE).items()}


def test_methods_without_a_budget_are_refused(case):
    with pytest.raises(ValueError, match="vanilla_grad has no budget.*kernel_shap"):
        cost_accuracy(*case[:3], budgets={"vanilla_grad": [1]}, progress=False)


def test_methods_without_a_budget_run_once(case):
    f, x, reference, _ = case
    table = cost_accuracy(f, x, reference, budgets={"kernel_shap": [256]} | ONE_PRICE, progress=False)
    spent = table.groupby("method").evaluations.first()
    assert table.groupby("method").size().eq(2).all() and table.budget.isna().sum() == 2 * len(ONE_PRICE)
    assert spent["random"] == 0 and spent["vanilla_grad"] == spent["input_x_gradient"] == 1
    assert spent["deeplift"] == 2 + 2  # both ends together, and both once more to see that nothing is missing
    assert spent["occlusion"] == 8 + 1
    assert spent["greedy"] == 8 * 9 / 2 + 2  # a start for each of its two directions


def test_enough_is_the_budget_after_which_a_method_stays_close():
    rows = [("a", 1, 5.0), ("a", 2, 0.5), ("a", 3, 2.0), ("a", 4, 0.9), ("a", 5, 0.0), ("b", 7, 3.0), ("c", 9, -4.0)]
    table = pd.DataFrame(
        [{"method": m, "evaluations": e, "mode": mode, "abc_per_feature": 100 - s, "shortfall": s}
         for m, e, s in rows for mode in ("insertion", "deletion")]
    )  # fmt: skip
    found = smallest_budget(table.sample(frac=1, random_state=0), 0.01)["insertion"]
    assert found["a"] == 4 and np.isnan(found["b"]) and found["c"] == 9
    assert smallest_budget(table, 0.03)["deletion"].to_dict() == {"a": 2, "b": 7, "c": 9}
