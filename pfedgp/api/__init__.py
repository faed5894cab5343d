"""For notebooks and programs: an estimator of scikit-learn, and simulations whose results are objects."""

from pfedgp.api.estimator import PersonalClassifier
from pfedgp.api.run import Run
from pfedgp.api.simulation import simulate

__all__ = ["PersonalClassifier", "Run", "simulate"]
