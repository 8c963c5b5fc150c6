"""The sets known by name: their file, its SHA-256, its size, and what OpenML calls them."""

from collections.abc import Mapping
from dataclasses import dataclass

_LIBSVM = "https://www.csie.ntu.edu.tw/~cjlin/libsvmtools/datasets/binary.html"


@dataclass(frozen=True)
class OpenMLRecipe:
    """How to make one of our sets of one of OpenML's."""

    data_id: int  # pins set and version
    positive: frozenset[str]  # labels that become 1; all others become -1
    # Checksum of the rows at 6 significant digits, in sorted order: see `oracle_opt.datasets.load.rows_checksum`.
    rows_sha256: str
    # Numbers for words in feature columns; a missing value is looked up as ``"?"``.
    codes: Mapping[str, float] | None = None


@dataclass(frozen=True)
class CatalogEntry:
    """A set known by name."""

    # Name of its file and the checksum of the file's bytes; None if scikit-learn ships the set. The checksum is None,
    # too, where we do not know it.
    file: str | None
    sha256: str | None
    n: int  # points
    d: int  # features
    n_positive: int | None  # points labeled 1; None if we do not know it
    description: str  # what the labels mean; donor
    openml: OpenMLRecipe | None = None  # None if OpenML has no copy known to hold the same points
    # Without a checksum the set is checked by its shape, and its file may have any of these names, with any ending.
    stems: tuple[str, ...] = ()
    origin: str = ""  # where such a file comes from


def names() -> tuple[str, ...]:
    """Return the names `load` knows.

    Returns
    -------
    tuple of str
        Whether a set is at hand or not, see `available`.
    """
    return tuple(CATALOG)


_VOTES = {"y": 1.0, "n": -1.0, "?": 0.0}


def _of_libsvm(
    name: str, shape: tuple[int, int], stems: tuple[str, ...], file: str, page: str, words: str, n_positive: int | None
) -> CatalogEntry:
    """Make the entry of a set that LIBSVM's page distributes as `file`, in the section `page`."""
    return CatalogEntry(file, None, *shape, n_positive, words, stems=(name, *stems), origin=f"{_LIBSVM}#{page}")


# Sets of the papers that a user has to fetch, whose file is known by its shape, as we do not know a checksum of it. The
# sizes are those of the pages named. Where a page does not state the number of points labeled 1, it is not checked.
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


CATALOG: dict[str, CatalogEntry] = {
    "wpbc": CatalogEntry(
        "wpbc.csv",
        "cadaa33aa174a71f051bb5b2bb9f4835bb5d4d658934e2386b7202e4c53ac04c",
        *(194, 33, 46),
        "UCI Breast Cancer Wisconsin (Prognostic): 1 = recurrent; the 4 rows with a missing value dropped",
    ),
    "ionosphere": CatalogEntry(
        "ionosphere.csv",
        "3312a6575756e5c4fa11b275120f7c2430ac17c3b59949b509f54a2f6bfa8228",
        *(351, 34, 225),
        "UCI Ionosphere: 1 = good",
        OpenMLRecipe(
            59,
            frozenset({"g"}),
            "b577e58b41ea8bef6d5bd138bc4afbe875ed28c6e529192460a7c309173d406d",
        ),
    ),
    "sonar": CatalogEntry(
        "sonar.csv",
        "683d0bb547c21b762fa0933d90b1fe8fe5c772f4f83f89fe054760a45db41daa",
        *(208, 60, 111),
        "UCI Connectionist Bench (Sonar): 1 = mine, -1 = rock",
        OpenMLRecipe(
            40,
            frozenset({"Mine"}),
            "9ce0a339c3d55f699b7cf98d79aff1363dbcd7eb00cccdab8c40bf899d361c05",
        ),
    ),
    "bupa": CatalogEntry(
        "bupa.csv",
        "2786e7161c341639b1a0aada9fc810743d654c4887919c7dfa2d5cccfea986a2",
        *(345, 6, 200),
        "UCI Liver Disorders (BUPA): 1 = selector 2, which the MKL literature uses as the class",
    ),
    "pima": CatalogEntry(
        "pima.csv",
        "ccf8961fb638770bb6aabcb7f8988d452176fec6eeed895fc646714485f080ab",
        *(768, 8, 268),
        "Pima Indians Diabetes: 1 = tested positive",
        OpenMLRecipe(
            37, frozenset({"tested_positive"}), "e2051da6c9cbd2d08c8311b902dc03431ea7716ed3190ef346e9e9b15a0ef433"
        ),
    ),
    "vote": CatalogEntry(
        "vote.csv",
        "8282df125de992a2ca58e835388bb4f4e57aa2969bc8755b8b6be42f7978054a",
        *(435, 16, 267),
        "UCI Congressional Voting Records 1984: 1 = democrat; yes, no and unknown are 1, -1 and 0",
        OpenMLRecipe(
            56, frozenset({"democrat"}), "64cfd4cc19c9d09a1ce35f7e43e6833f82404cf9c0d18f33d476717779ee3808", _VOTES
        ),
    ),
    "heart": CatalogEntry(
        "heart.csv",
        "8f72561db1d9b98e881bf96af4a96bf13ed53b3600ef80e97282a337e6ef77df",
        *(270, 13, 120),
        "UCI Statlog (Heart): 1 = disease present",
        OpenMLRecipe(
            53,
            frozenset({"present"}),
            "fee705955f12c0bba60193c9f86fd9f587d773a1109fe6151aae7887a56d06a5",
        ),
    ),
    "wdbc": CatalogEntry(
        None,
        None,
        *(569, 30, 212),
        "UCI Breast Cancer Wisconsin (Diagnostic): 1 = malignant",
    ),
    "digits": CatalogEntry(
        None,
        None,
        *(1797, 64, 901),
        "UCI Optical Recognition of Handwritten Digits (8 x 8 pixels): 1 = digits 0 to 4, -1 = digits 5 to 9",
    ),
    "australian": CatalogEntry(
        "australian.csv",
        "c811242a28c8fc3f45dcd9950c84913658321980b61a26e240b65af3d4e7738b",
        *(690, 14, 307),
        "UCI Statlog (Australian Credit Approval): 1 = class 1",
        OpenMLRecipe(
            40981,
            frozenset({"1"}),
            "95da6daf0272090bef3c302378fe65be9fb2b6963353d9e925a75639e877be56",
        ),
    ),
    "spambase": CatalogEntry(
        "spambase.csv",
        "46816783e6129b26c1999be0d982a02fdc0fac1a81736c64b538c167a8909d23",
        *(4601, 57, 1813),
        "UCI Spambase: 1 = spam",
        OpenMLRecipe(
            44,
            frozenset({"1"}),
            "4b5644776bedc6471fd3c8b101a983c25f2c604b032c3333ff1498c7512738d7",
        ),
    ),
    "letter": CatalogEntry(
        "letter.csv.gz",
        "bcb7bb2e5eeda39634b9d4c61f6084813d519b0945bb2d40b6ab6f4ed86e9166",
        *(20000, 16, 9940),
        "UCI Letter Recognition: 1 = A to M, -1 = N to Z",
        OpenMLRecipe(
            6,
            frozenset("ABCDEFGHIJKLM"),
            "5fb3adf318f566063529dd0da0556fec2c6ecfc8671b3127f367b9cf2e68e4b3",
        ),
    ),
    "cod_rna": CatalogEntry(
        "cod_rna.csv.gz",
        "3361ba147778511379cde5c75e554243c3d2a5bca73195b7b9f325be309d989b",
        *(59535, 8, 19845),
        "LIBSVM cod-rna, training file",
    ),
    "poker_train": CatalogEntry(
        "poker_train.csv.gz",
        "fc50d29e080ec5b16520e608552e070a1ab4f36793f49a63a069aab248e64936",
        *(25010, 10, 12517),
        "UCI Poker Hand, training file: 1 = a pair or better",
    ),
    "proteinfold": CatalogEntry(
        "proteinfold.csv.gz",
        "4c8e375dea27bc8c6eae8189cdd1f00c5923b6e5e432c8db5842309088ef65a7",
        *(694, 324, 341),
        "Ding-Dubchak SCOP protein folds, 12 views of 27 columns: 1 = folds 1 to 15",
    ),
    "a1a": CatalogEntry(
        "a1a.svm.gz",
        "0224531f57ffd3bf1b5f87463d33487953c899aebf042ec14b727a16ea86f82a",
        *(1605, 123, 395),
        "LIBSVM a1a (UCI Adult), sparse",
    ),
    "a8a": CatalogEntry(
        "a8a.svm.gz",
        "8ffbed9858619039ec0e6774e30359ed11a4e7bbf5d76128cc6097994b664441",
        *(22696, 123, 5506),
        "LIBSVM a8a (UCI Adult), sparse",
    ),
    "a9a": CatalogEntry(
        "a9a.svm.gz",
        "2a66595cdac07f65d5e8a8d223dfe4ab003ebbcc7e3a0b9fe588c2657b8d6c4e",
        *(32561, 123, 7841),
        "LIBSVM a9a (UCI Adult), sparse",
    ),
    "a9a_t": CatalogEntry(
        "a9a_t.svm.gz",
        "3cc3668c2cbb3fbc172f2bade718c4f6678b76123eca97e0c4e15c78ba5312e3",
        *(16281, 123, 3846),
        "LIBSVM a9a.t (UCI Adult), the test set of a9a, sparse",
    ),
    "w1a": CatalogEntry(
        "w1a.svm.gz",
        "427fea75a6e28e4163d6a9762d722a2672f0df8b26b0d6f41e7f63d37d70c979",
        *(2477, 300, 72),
        "LIBSVM w1a (Platt's web pages), sparse",
    ),
    "w3a": CatalogEntry(
        "w3a.svm.gz",
        "d5e6444354b6283c8c5df51061cdbc43860b7b6d71a0ffdbf959016ebaa9e6c4",
        *(4912, 300, 143),
        "LIBSVM w3a (Platt's web pages), sparse",
    ),
    "w8a": CatalogEntry(
        "w8a.svm.gz",
        "75f08de62510ec4d50c519fe32dabb4e362902e64cdb0f6cee065a3e6fa356a3",
        *(49749, 300, 1479),
        "LIBSVM w8a (Platt's web pages), sparse",
    ),
    **BY_SHAPE,
}
