"""Simulated clients in a pool of processes: Flower's back end and grid of a simulation on one machine."""
