"""The paper's experiments and those beyond it: each takes data, a network and pairs, and returns tidy tables."""
