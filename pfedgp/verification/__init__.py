"""Checks of the product against reference values in the golden format; one module per group of topics."""
