"""Samples: data sets, how a simulation splits them, and a site's own files."""
