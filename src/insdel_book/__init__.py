"""From chapters to pages: run, build, check, the command line, the course. Builds on `insdel` and `insdel_paper`."""
