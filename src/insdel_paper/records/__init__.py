"""Full-size runs, written to `results/`: one registry, one command (`insdel record`).

May use the studies and what they are built on; the studies know nothing of it.

run.py        what a run is, and carrying one out: resumable, timed, trials apart from records
registry.py   all runs by name
The other modules hold the runs themselves, one per kind of study.
"""
