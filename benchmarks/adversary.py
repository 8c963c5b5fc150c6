"""What methods prove against an adversary that none beats: gaps after N calls, in units of what is possible.

    python benchmarks/adversary.py [--quick] [N ...]

`resisting(n)` of `oracle_opt.problems` with n = N variables, N = 5, 10, 20 and 50 by default, 5 alone with --quick: an
oracle that answers as badly as one convex function allows. After N calls no deterministic method has a value within
less than ``L R / sqrt(N)`` of the minimum, and none can prove more. Given is the proven gap in this unit, 1 being the
best there is and ``sqrt(N)`` what the first cut alone proves; beside it what theory guarantees, where it does. The
table is Markdown on the standard output. It has no seconds, so it is the same on every machine but for rounding.
"""

import argparse

from oracle_opt import minimize, problems
from oracle_opt.generators import (
    LBFGS,
    SPG,
    AnalyticCenter,
    Ellipsoid,
    FrankWolfe,
    Kelley,
    LevelSet,
    OptimalKelley,
    ProjectedGradient,
    ProximalBundle,
    QuasiNewton,
    Subgradient,
    TrustRegion,
)

METHODS = {
    "OptimalKelley(planned=N, steepness=L)": lambda n: OptimalKelley(planned=n, steepness=1.0),
    "ProximalBundle()": lambda _: ProximalBundle(),
    "LevelSet()": lambda _: LevelSet(),
    'LevelSet(level=0.3, adaptive=False, center="last")': lambda _: LevelSet(0.3, adaptive=False, center="last"),
    "LevelSet(interior=True)": lambda _: LevelSet(interior=True),
    "TrustRegion()": lambda _: TrustRegion(),
    'TrustRegion(norm="box")': lambda _: TrustRegion(norm="box"),
    "AnalyticCenter()": lambda _: AnalyticCenter(),
    "Kelley()": lambda _: Kelley(),
    "Ellipsoid()": lambda _: Ellipsoid(),
    "Subgradient()": lambda _: Subgradient(),
    "Subgradient(polyak=True)": lambda _: Subgradient(polyak=True),
    "SPG()": lambda _: SPG(),
    "ProjectedGradient()": lambda _: ProjectedGradient(),
    "QuasiNewton()": lambda _: QuasiNewton(),
    "LBFGS()": lambda _: LBFGS(),
    "FrankWolfe()": lambda _: FrankWolfe(),
}


def row(make, n):
    """Proven gap and guarantee, in units of what is possible."""
    instance = problems.find(f"resisting(n={n})")[0](0)
    generator, known = make(n), instance.regularity
    unit = known.steepness * known.distance / n**0.5
    result = minimize(instance.oracle, generator, instance.start, rtol=0.0, max_calls=n)
    promised = generator.guarantee(instance.oracle.domain, instance.start, n, known)
    return result.gap / unit, None if promised is None else promised.value / unit


def main():
    """Run and print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("n", nargs="*", type=int)
    given = parser.parse_args()
    sizes = given.n or ([5] if given.quick else [5, 10, 20, 50])
    print("| method |", " | ".join(f"N = {n}" for n in sizes), "| guarantee, the same N |")
    print("|---|" + "---|" * (len(sizes) + 1))
    for name, make in METHODS.items():
        found = [row(make, n) for n in sizes]
        promised = ", ".join(f"{value:.3g}" for _, value in found if value is not None)
        print(f"| `{name}` |", " | ".join(f"{gap:.3f}" for gap, _ in found), f"| {promised or 'none'} |", flush=True)


if __name__ == "__main__":
    main()
