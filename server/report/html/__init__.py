"""The HTML report of a run: one file without any link to the outside, drawn from the run's own files."""
