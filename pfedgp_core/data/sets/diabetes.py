"""scikit-learn's diabetes data: 442 patients, 10 features, disease progression after a year (25 to 346)."""

import numpy as np

from pfedgp_core.data.moments import input_statistics
from pfedgp_core.data.samples import SPLIT_SEED, Dataset, Split, stratified_split
from pfedgp_core.numerics.streams import Stream

__all__ = ["diabetes"]


def diabetes(root: str, seed: int) -> Dataset:
    """Load the patients; `root` and `seed` are unused.

    60 % is training data, 20 % validation, 20 % test: the same samples for every seed. Features are in their original
    units, because scikit-learn's scaled ones have seen the test data.
    """
    from sklearn.datasets import load_diabetes

    features, targets = load_diabetes(return_X_y=True, scaled=False)
    vectors, values = features.astype(np.float32), targets.astype(np.float64)
    stream = Stream(SPLIT_SEED, "split", "diabetes")
    rows = stratified_split(np.zeros(len(values), np.int64), (0.6, 0.2, 0.2), stream)
    train, validation, test = (Split(vectors[r], values[r]) for r in rows)
    mean, std = input_statistics(train.inputs)
    return Dataset("diabetes", (), train, validation, test, mean, std, (vectors.shape[1],))
