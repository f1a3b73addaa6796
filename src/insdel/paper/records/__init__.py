"""Full-size runs of the studies, written to `results/`."""
