"""Kernels on features, one file each."""
