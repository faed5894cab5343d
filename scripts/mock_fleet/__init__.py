"""Sites that speak Flower's Fleet protocol with keys of their own, and compute nothing: no torch, no data."""
