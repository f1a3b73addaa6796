"""Your own table and model: read, fit, pair, report. Builds on the rest of the library."""
