"""Full-size runs, written to `results/`: one decorator, one command (`insdel record`).

run.py        what a run is, and carrying one out: resumable, timed, trials apart from records
registry.py   all runs by name: those that the studies declare with `@record`
"""
