"""Remove and retrain: which features the accuracy of a network needs  [section 6]."""
