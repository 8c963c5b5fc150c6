"""The generators that the campaigns run, by words: each class, and the options that change how it works inside."""

from functools import partial

from oracle_opt.study import GENERATORS, generator_of

OPTIONS = (
    "AnalyticCenter(epigraph=False, proximal=0.0)",
    "AnalyticCenter(proximal=0.0)",
    "AnalyticCenter(max_cuts=8)",
    "Kelley(chebyshev=True)",
    "Kelley(max_cuts=8)",
    "LevelSet(adaptive=False)",
    "LevelSet(entropic=False)",
    "LevelSet(max_cuts=8, tune_accuracy=True)",
    "ProximalBundle(max_cuts=8)",
    "Ellipsoid(deep=False)",
    "SpectralBundle(min_order=2, max_order=3)",
    "SPG(entropic=False, tune_accuracy=True)",
    "Subgradient(polyak=True)",
)
METHODS = {kind.__name__: kind for kind in GENERATORS.values()} | {
    words: partial(generator_of, words) for words in OPTIONS
}
