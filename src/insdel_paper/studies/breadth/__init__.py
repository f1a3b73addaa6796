"""Which method, on some twenty tables and six families of models? The plan, and what counts as no, stand in `plan`."""
