"""Figures of the book that several cells use or that take more than a few lines, a module per topic.

Each function takes data, draws it and returns a matplotlib Figure. Figures keep an opaque light background, so that
they read the same in the book's light and dark themes. What chapters draw in their own cells starts from `panels_row`
or `draw_row`.
"""

import lazy_loader

from insdel.plots import COLORS, PALETTE, STYLE, message, method_look, panels_grid, panels_row, use_style

__getattr__, __dir__, __all__ = lazy_loader.attach(
    __name__,
    submod_attrs={
        "cost": ["LIMIT", "bench_ratios", "estimator_coverage", "estimator_enough", "estimator_errors",
                 "estimator_ratio_errors", "estimator_ratios"],
        "data": ["data_distributions", "predicted_vs_true"],
        "drawing": ["MARKERS", "ZERO", "draw_groups", "draw_picture", "draw_pixel_curves", "draw_row", "legend_outside",
                    "percent"],
        "experiments": ["experiment_aggregate", "experiment_walks"],
        "roar": ["RANKING_LOOKS", "draw_losses", "roar_curves"],
        "theory": ["binary_cube", "chance_histogram", "orders_histogram", "split_ledger", "walk", "walk_modes"],
    },
)  # fmt: skip
__all__ += ["COLORS", "PALETTE", "STYLE", "message", "method_look", "panels_grid", "panels_row", "use_style"]
