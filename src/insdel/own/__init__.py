"""Your own table and model: read, fit, pair, report. Builds on the library and on `paper`."""
