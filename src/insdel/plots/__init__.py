"""Every figure of the book, one function each, a module per topic.

Each function takes data, draws it and returns a matplotlib Figure. Figures keep an opaque light
background, so that they read the same in the book's light and dark themes.
"""

from insdel.plots.beyond import (
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
from insdel.plots.binary import binary_distance, binary_gain, binary_line
from insdel.plots.data import (
    data_distributions,
    data_residuals,
    data_shares,
    fit_history,
    fit_recipes,
    predicted_vs_true,
    search_history,
)
from insdel.plots.exercises import exercise_errors, exercise_lines, exercise_pictures
from insdel.plots.experiments import (
    experiment_aggregate,
    experiment_differing,
    experiment_importance,
    experiment_scatter,
    experiment_variation,
    experiment_walks,
)
from insdel.plots.manifold import manifold_earned, manifold_extreme, manifold_profile, manifold_tail
from insdel.plots.own import own_attributions, own_ranking, own_walks
from insdel.plots.pictures import image_curves, image_example, image_frames, image_gains, image_maps, image_references
from insdel.plots.play import play_boards
from insdel.plots.roar import roar_bends, roar_curves, roar_leaks
from insdel.plots.spend import LIMIT, bench_growth, bench_ratios, spend_areas, spend_shortfall
from insdel.plots.style import COLORS, PALETTE, STYLE, message, use_style
from insdel.plots.theory import (
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
