"""The printed tables, against what the text says of them."""

import pytest

import insdel_paper as paper


def test_tables_have_the_printed_shape():
    assert len(paper.table("bangalore")) == len(paper.table("cern_counterfactual")) == 16
    assert len(paper.table("cern_policies")) == 28
    assert len(paper.table("cern_correlation")) == 3 and len(paper.table("albatross")) == 4


@pytest.mark.parametrize("name", ["bangalore", "cern_counterfactual"])
def test_printed_differences_are_those_of_the_printed_means_to_rounding(name):
    means = paper.table(name).pivot_table(index="mode", columns="method", values="mean")
    gap = means["kernel_shap"] - means["integrated_gradients"] - means[paper.DIFFERENCE]
    assert gap.abs().max() < 0.0016


def test_an_unknown_table_is_refused():
    with pytest.raises(ValueError, match="there is no table 'tables'.*bangalore"):
        paper.table("tables")
