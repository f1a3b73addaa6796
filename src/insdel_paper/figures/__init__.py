"""Every figure of the book, one function each, a module per topic, loaded when it is used.

Each function takes data, draws it and returns a matplotlib Figure. Figures keep an opaque light
background, so that they read the same in the book's light and dark themes.
"""

import lazy_loader

from insdel.plots import COLORS, PALETTE, STYLE, message, use_style

__getattr__, __dir__, __all__ = lazy_loader.attach(
    __name__,
    submod_attrs={
        "best_order": ["beyond_hard", "beyond_shares", "beyond_walks", "both_differences", "both_kinds", "both_plane",
                       "chance_histogram", "chance_scale", "chance_tails"],
        "breadth": ["breadth_interactions", "breadth_scores"],
        "binary": ["binary_distance", "binary_gain", "binary_line"],
        "cost": ["LIMIT", "bench_growth", "bench_ratios", "estimator_coverage", "estimator_enough", "estimator_errors",
                 "estimator_ratio_errors", "estimator_ratios", "growth_rates", "scale_costs", "spend_areas",
                 "spend_shortfall"],
        "data": ["data_distributions", "data_residuals", "data_shares", "fit_history", "fit_recipes",
                 "predicted_vs_true", "search_history"],
        "experiments": ["experiment_aggregate", "experiment_coverage", "experiment_differing", "experiment_importance",
                        "experiment_scatter", "experiment_variation", "experiment_walks"],
        "images": ["image_curves", "image_example", "image_frames", "image_maps", "image_photos", "image_references"],
        "manifold": ["manifold_earned", "manifold_extreme", "manifold_profile", "manifold_tail"],
        "references": ["reference_adversary", "reference_agreement"],
        "roar": ["roar_bends", "roar_curves", "roar_forms", "roar_leaks"],
        "six_ways": ["six_attributions", "six_walks"],
        "theory": ["abc_by_interaction", "against_shapley", "all_orders", "binary_cube", "cost_by_features",
                   "jump_time", "missed_by_test", "orders_histogram", "same_order", "shapley_misses",
                   "shuffle_agreement", "shuffle_last", "shuffle_walks", "shuffle_weights", "split_entry",
                   "split_ledger", "walk", "walk_modes"],
        "trees": ["trees_gaps", "trees_scale"],
    },
)  # fmt: skip
__all__ += ["COLORS", "PALETTE", "STYLE", "message", "use_style"]
