"""Processes: signals, parents, ports, and the names under which an operator calls them."""
