"""Checks of the product against reference values in the golden format, and what is said of each value."""
