"""A federation on this machine: the simulation, and the processes of a local deployment."""
