"""Pages that are made, not written: claims, errata, status."""
