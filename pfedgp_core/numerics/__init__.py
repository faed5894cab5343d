"""Linear algebra, quadrature, Polya-Gamma variables and random streams: what knows nothing of clients or trees."""
