"""Nineteen corruptions of images at five severities, and the noise models of simulated clients made of them."""
