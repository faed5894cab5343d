"""Federated methods, a file each, behind one interface."""
