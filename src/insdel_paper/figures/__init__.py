"""Every figure of the book, one function each, a module per topic.

Each function takes data, draws it and returns a matplotlib Figure. Figures keep an opaque light
background, so that they read the same in the book's light and dark themes.
"""

from insdel.plots import COLORS, PALETTE, STYLE, message, use_style
from insdel_paper.figures.best_order import (
    beyond_hard,
    beyond_shares,
    beyond_walks,
    both_differences,
    both_kinds,
    both_plane,
    chance_histogram,
    chance_scale,
    chance_tails,
)
from insdel_paper.figures.binary import binary_distance, binary_gain, binary_line
from insdel_paper.figures.cost import (
    LIMIT,
    bench_growth,
    bench_ratios,
    estimator_coverage,
    estimator_enough,
    estimator_errors,
    estimator_ratio_errors,
    estimator_ratios,
    growth_rates,
    scale_costs,
    spend_areas,
    spend_shortfall,
)
from insdel_paper.figures.data import (
    data_distributions,
    data_residuals,
    data_shares,
    fit_history,
    fit_recipes,
    predicted_vs_true,
    search_history,
)
from insdel_paper.figures.experiments import (
    experiment_aggregate,
    experiment_coverage,
    experiment_differing,
    experiment_importance,
    experiment_scatter,
    experiment_variation,
    experiment_walks,
)
from insdel_paper.figures.images import (
    image_curves,
    image_example,
    image_frames,
    image_maps,
    image_photos,
    image_references,
)
from insdel_paper.figures.manifold import manifold_earned, manifold_extreme, manifold_profile, manifold_tail
from insdel_paper.figures.references import reference_adversary, reference_agreement
from insdel_paper.figures.roar import roar_bends, roar_curves, roar_forms, roar_leaks
from insdel_paper.figures.six_ways import six_attributions, six_walks
from insdel_paper.figures.theory import (
    abc_by_interaction,
    against_shapley,
    all_orders,
    binary_cube,
    cost_by_features,
    jump_time,
    missed_by_test,
    orders_histogram,
    same_order,
    shapley_misses,
    shuffle_agreement,
    shuffle_last,
    shuffle_walks,
    shuffle_weights,
    split_entry,
    split_ledger,
    walk,
    walk_modes,
)
from insdel_paper.figures.trees import trees_gaps, trees_scale
