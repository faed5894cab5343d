"""Many settings of one federation: which to try, their runs, and which is best on validation data."""
