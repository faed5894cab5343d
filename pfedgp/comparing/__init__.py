"""Runs beside each other: their settings, their results, and each client's difference."""
