"""Simple classifiers on given features: the floors that a Gaussian process on the same features has to pass."""
