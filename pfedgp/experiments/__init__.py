"""Experiments: a TOML file names a table of the paper or of ours, and a command runs and writes it."""
