"""From chapters to pages: run, build, check, and the command line. Builds on all other rooms."""
