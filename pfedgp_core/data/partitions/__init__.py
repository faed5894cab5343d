"""Who holds what in a simulation, a file for each way to split."""
