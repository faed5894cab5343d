"""One binary Gaussian process node: Gibbs sampling, and the posterior on the full GP or through FITC."""
