"""Points in the shape of Covertype: 10 numbers and 44 bits of a place in a forest, and which trees grow there."""

import numpy as np

N_POINTS, N_NUMBERS, N_AREAS, N_SOILS = 581_012, 10, 4, 40
CHUNK = 65_536
# Share of the labels that are turned round. With this one and C = 1000 about half the points are support vectors.
NOISE = 0.05


def forest(n_points=N_POINTS, seed=0):
    """Draw points and labels, the same first ones for any number of them.

    Covertype itself [1]_ is not at hand where this is written. Its columns are imitated one by one: elevation, aspect,
    slope, two distances to water, one to roads, three hillshades (which follow from aspect and slope), one to fires;
    then one of 4 areas and one of 40 soils, which go with elevation. Numbers have mean 0 and deviation 1, roughly; the
    bits are 0 or 1, as a scaled bit of a rare soil would outweigh all else. The label is the sign of a smooth function
    of elevation, aspect, slope, roads and soil, both classes near one half, turned round for a share `NOISE` of the
    points.

    Parameters
    ----------
    n_points : int
        Number of points. They are made in chunks, each of a random stream of its own, so that memory is that of the
        answer and no point depends on how many there are.
    seed : int
        Seed.

    Returns
    -------
    X : ndarray of float32, shape (n_points, 54)
    y : ndarray of shape (n_points,)
        -1 and +1.

    References
    ----------
    .. [1] Blackard, Dean (1999), "Comparative accuracies of artificial neural networks and discriminant analysis in
       predicting forest cover types from cartographic variables", Computers and Electronics in Agriculture 24.
    """
    X = np.zeros((n_points, N_NUMBERS + N_AREAS + N_SOILS), np.float32)
    y = np.empty(n_points)
    tables = _Tables(np.random.default_rng((seed, 0)))
    for chunk, first in enumerate(range(0, n_points, CHUNK), start=1):
        numbers, area, soil, label = tables.draw(np.random.default_rng((seed, chunk)))
        part = slice(first, min(first + CHUNK, n_points))
        size = part.stop - first
        rows = np.arange(size)
        block = X[part]
        block[:, :N_NUMBERS] = numbers[:size]
        block[rows, N_NUMBERS + area[:size]] = 1.0
        block[rows, N_NUMBERS + N_AREAS + soil[:size]] = 1.0
        y[part] = label[:size]
    return X, y


class _Tables:
    """What all points share: which soils and areas go with which height, and what soils do to the label."""

    def __init__(self, rng):
        self.soil_height = np.linspace(-2.2, 2.2, N_SOILS)
        self.soil_share = rng.gumbel(size=N_SOILS)  # some soils are common, some rare
        self.soil_area = rng.normal(size=(N_SOILS, N_AREAS))
        self.soil_effect = rng.choice([-0.4, 0.4], N_SOILS)
        self.area_height = np.array([-1.0, -0.2, 0.5, 1.2])

    def draw(self, rng):
        """Numbers, area, soil and label of one chunk."""
        height = rng.normal(size=CHUNK)
        aspect = rng.uniform(0.0, 2 * np.pi, CHUNK)
        slope = rng.gamma(3.5, 0.5, CHUNK)  # mean 1.75, deviation 0.94
        water = rng.gamma(1.5, 0.8, CHUNK)
        above_water = 0.6 * water * rng.normal(size=CHUNK) + 0.4 * rng.normal(size=CHUNK)
        roads = rng.gamma(2.0, 0.7, CHUNK) + 0.3 * height
        fires = rng.gamma(2.2, 0.7, CHUNK)
        # Light of a sun in the east, south and west on a slope that faces `aspect`.
        steep = np.minimum(0.25 * slope, 1.2)
        lights = [
            np.cos(steep) + np.sin(steep) * np.cos(aspect - sun) + 0.05 * rng.normal(size=CHUNK)
            for sun in (0.5 * np.pi, np.pi, 1.5 * np.pi)
        ]
        numbers = np.stack(
            [
                height,
                (aspect - np.pi) / 1.81,
                (slope - 1.75) / 0.94,
                (water - 1.2) / 0.98,
                above_water / 1.0,
                (roads - 1.4) / 1.03,
                *((light - 0.9) / 0.33 for light in lights),
                (fires - 1.54) / 1.04,
            ],
            axis=1,
        )
        area = _one_of(rng, -((height[:, None] - self.area_height) ** 2))
        soil = _one_of(rng, self.soil_share - 2.0 * (height[:, None] - self.soil_height) ** 2 + self.soil_area.T[area])
        score = (
            np.sin(1.6 * height)
            + 0.5 * np.cos(aspect) * (slope - 1.0)
            + 0.3 * (roads - 1.4)
            + self.soil_effect[soil]
            - 0.1
        )
        label = np.where(score > 0, 1.0, -1.0)
        return numbers, area, soil, np.where(rng.random(CHUNK) < NOISE, -label, label)


def _one_of(rng, scores):
    """One column a row, drawn with probabilities that go with the exponentials of the scores."""
    return np.argmax(scores + rng.gumbel(size=scores.shape), axis=1)
