"""Every check that scikit-learn has for estimators passes, no failure expected: weights that count rows, too."""

import pytest
from sklearn.utils.estimator_checks import parametrize_with_checks

from oracle_opt.learn import MKLClassifier, MKLOneClass, MKLRegressor

ESTIMATORS = [
    MKLClassifier(),
    MKLClassifier(loss="squared_hinge", multiclass="ovo"),
    MKLClassifier(shared_weights=True),
    MKLClassifier(norm=2.0),
    MKLClassifier(norm="mixed", rtol=1e-2),
    MKLRegressor(),
    MKLOneClass(),
]


@pytest.mark.campaign(7)
@parametrize_with_checks(ESTIMATORS)
def test_the_checks_of_scikit_learn(estimator, check) -> None:
    check(estimator)
