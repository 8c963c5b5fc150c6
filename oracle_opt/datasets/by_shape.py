"""Sets of the papers that a user has to fetch: whose file is known by its shape, as we do not know a checksum of it.

The sizes are those of the pages named. Where a page does not state the number of points labeled 1, it is not checked.
"""

from __future__ import annotations

from oracle_opt.datasets.catalog_entry import CatalogEntry

_LIBSVM = "https://www.csie.ntu.edu.tw/~cjlin/libsvmtools/datasets/binary.html"


def _of_libsvm(
    name: str, shape: tuple[int, int], stems: tuple[str, ...], file: str, page: str, words: str, n_positive: int | None
) -> CatalogEntry:
    """Make the entry of a set that LIBSVM's page distributes as `file`, in the section `page`."""
    return CatalogEntry(file, None, *shape, n_positive, words, stems=(name, *stems), origin=f"{_LIBSVM}#{page}")


BY_SHAPE: dict[str, CatalogEntry] = {
    "covertype": _of_libsvm(
        *("covertype", (581012, 54), ("covtype.libsvm.binary",), "covtype.libsvm.binary.bz2", "covtype.binary"),
        *("LIBSVM covtype.binary (UCI Covertype in two classes), unscaled: 1 = label 2, -1 = label 1", None),
    ),
    "kddcup04": CatalogEntry(
        *("phy_train.dat", None, 50000, 78, None),
        "KDD Cup 2004, particle physics, training file, with all 78 features: 1 = class 1, -1 = class 0; 999 and 9999 "
        "stand for missing values in eight of them",
        stems=("kddcup04", "phy_train"),
        origin="the archive at https://www.kdd.org/kdd-cup/view/kdd-cup-2004/Data",
    ),
    "real_sim": _of_libsvm(
        *("real_sim", (72309, 20958), ("real-sim",), "real-sim.bz2", "real-sim"),
        *("LIBSVM real-sim (articles of discussion groups, simulated and real), sparse", None),
    ),
    "rcv1": _of_libsvm(
        *("rcv1", (20242, 47236), ("rcv1_train.binary",), "rcv1_train.binary.bz2", "rcv1.binary"),
        *("LIBSVM rcv1.binary (Reuters news), training file, sparse", None),
    ),
    "leukemia": _of_libsvm(
        *("leukemia", (38, 7129), ("leu",), "leu.bz2", "leukemia"),
        *("LIBSVM leukemia (gene expression of two leukemias), training file", None),
    ),
    "breast_cancer": _of_libsvm(
        *("breast_cancer", (683, 10), ("breast-cancer",), "breast-cancer", "breast-cancer"),
        "LIBSVM breast-cancer (UCI Breast Cancer Wisconsin, original), unscaled: 1 = malignant; column 1 is the number "
        "of the sample; rows with a missing value are left out",
        239,
    ),
    "a2a": _of_libsvm("a2a", (2265, 123), (), "a2a", "a2a", "LIBSVM a2a (UCI Adult), sparse", None),
    "w7a": _of_libsvm("w7a", (24692, 300), (), "w7a", "w7a", "LIBSVM w7a (Platt's web pages), sparse", None),
}
