"""Which method, on some twenty tables and six families of models? Questions and what counts as no: `protocol`."""
