"""Estimators in the manner of scikit-learn: of kernels whose weights are learned, and linear ones of other losses."""

from oracle_opt.optional import require

require("sklearn", "learn", "the estimators of oracle_opt.learn")

from oracle_opt.learn.auc_ranker import AUCRanker  # noqa: E402 - what they need was asked for first
from oracle_opt.learn.mkl_classifier import MKLClassifier  # noqa: E402
from oracle_opt.learn.mkl_classifier_cv import MKLClassifierCV  # noqa: E402
from oracle_opt.learn.mkl_one_class import MKLOneClass  # noqa: E402
from oracle_opt.learn.mkl_regressor import MKLRegressor  # noqa: E402
from oracle_opt.learn.quantile_regressor import QuantileRegressor  # noqa: E402

__all__ = ["AUCRanker", "MKLClassifier", "MKLClassifierCV", "MKLOneClass", "MKLRegressor", "QuantileRegressor"]


def __dir__() -> list[str]:
    return sorted(__all__)  # what completion offers
