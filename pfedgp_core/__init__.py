"""The mathematics of pFedGP: kernels, Gibbs sampling, GP trees, objectives, metrics, partitions. Never imports flwr."""
