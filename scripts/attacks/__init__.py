"""Attacks of sites on a simulated federation, without Flower: the clients' and the server's own mathematics."""
