"""Predictions of a site's classifier: their table, their sums, and how far they are."""
