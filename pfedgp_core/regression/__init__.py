"""Gaussian process regression: real-valued targets in place of a tree of classes."""
