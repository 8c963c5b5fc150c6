"""Problems by name: the families, all that is at hand, and what a text means."""

import ast
from importlib import import_module

from oracle_opt.arguments import text as checked_text
from oracle_opt.errors import DataUnavailable, InvalidArgument
from oracle_opt.problems.instance import Problem
from oracle_opt.problems.problem_family import Family, nearest

# The modules of the families, in the order in which they are listed. The name of a family has a hyphen for each _.
MODULES = (
    "nonsmooth",
    "max_affine",
    "max_quadratic",
    "scalable",
    "matrix_game",
    "least_absolute",
    "separable",
    "resisting",
    "robust_lp",
    "max_cut",
    "theta",
    "two_stage",
    "one_tree",
    "random_facilities",
    "lp",
    "qp",
    "sdp",
    "stochastic",
    "tsp",
    "gap",
    "uflp",
    "mcf",
    "mkl",
    "mkl_kinds",
)


def families() -> tuple[str, ...]:
    """Return the names of all families.

    Returns
    -------
    tuple of str
        Whether their data are at hand or not, see `missing`.

    Examples
    --------
    >>> from oracle_opt import problems
    >>> problems.families()[:2]
    ('nonsmooth', 'max-affine')
    """
    return tuple(module.replace("_", "-") for module in MODULES)


def family(name: str) -> Family:
    """Return a family by its name.

    Parameters
    ----------
    name : str
        One of `families`.

    Returns
    -------
    Family
        What makes its problems.

    Raises
    ------
    InvalidArgument
        There is none of this name; the message has the nearest ones.
    """
    names = {known.lower(): module for known, module in zip(families(), MODULES, strict=True)}
    module = names.get(checked_text("name", name).lower())
    if module is None:
        raise InvalidArgument(f"there is no family of problems {name!r}: {nearest(name, families())}")
    found = import_module(f"oracle_opt.problems.{module}").FAMILY
    assert isinstance(found, Family)
    return found


def suite(name: str | None = None) -> list[Problem]:
    """Return all problems that are at hand, or those of a family.

    Instances whose data come with the library or are drawn need nothing; collections of others are read from the folder
    that the environment variable ORACLE_OPT_PROBLEMS names.

    Parameters
    ----------
    name : str, optional
        A family; default is all.

    Returns
    -------
    list of Problem
        Recipes: nothing is built or read.

    Raises
    ------
    InvalidArgument
        There is no such family.
    """
    return [problem for one in _chosen(name) for problem in one.problems()]


def missing(name: str | None = None) -> dict[str, str]:
    """Return the names of the problems that are not at hand, of all families or one, each with what to do about it.

    A collection of which nothing is at hand stands there under its own name.

    Parameters
    ----------
    name : str, optional
        A family; default is all.

    Returns
    -------
    dict of str to str
        By name, the reason and what to do.
    """
    return {known: why for one in _chosen(name) for known, why in one.missing().items()}


def find(text: str) -> list[Problem]:
    """Return the problems that a text names.

    Parameters
    ----------
    text : str
        A family, as ``"nonsmooth"``: all its problems; one of them, as ``"nonsmooth/CB2"``; or parameters of a family
        that has some, as ``"max-affine(n=30, seed=2)"``, the others at their defaults. Without a seed the instance is
        drawn by the seed of each run. Capital letters make no difference.

    Returns
    -------
    list of Problem
        At least one.

    Raises
    ------
    InvalidArgument
        There is no such family, problem or parameter; the message has the nearest ones.
    DataUnavailable
        The problem is known but its data are not at hand; the message says what to do.

    Examples
    --------
    >>> from oracle_opt import problems
    >>> [problem.name for problem in problems.find("nonsmooth/cb2")]
    ['nonsmooth/CB2']
    >>> problems.find("max-affine(n=30, seed=2)")[0](0).oracle.domain.dimension
    30
    """
    words = checked_text("text", text, "a text such as 'nonsmooth/CB2'").strip()
    if words.endswith(")"):
        name, _, arguments = words[:-1].partition("(")
        return [family(name.strip()).problem(_parameters(words, arguments))]
    name, slash, member = words.partition("/")
    one = family(name)
    found = one.problems()
    lacking = {known.lower(): why for known, why in one.missing().items()}
    if not slash:
        if not found:
            raise DataUnavailable("; ".join(dict.fromkeys(lacking.values())))
        return found
    chosen = [problem for problem in found if problem.name.lower() in (words.lower(), f"{name}({member})".lower())]
    if chosen:
        return chosen
    for known in (words.lower(), one.name):
        if known in lacking:
            raise DataUnavailable(lacking[known])
    raise InvalidArgument(
        f"there is no problem {member!r} in {one.name}: "
        f"{nearest(member, [problem.name.rpartition('/')[2] for problem in found])}"
    )


def _chosen(name: str | None) -> list[Family]:
    return [family(one) for one in (families() if name is None else (name,))]


def _parameters(words: str, arguments: str) -> dict[str, object]:
    """Values by name of ``n=30, seed=2``; a bare word is a text."""
    advice = f"`text` must look like 'max-affine(n=30, seed=2)', got {words!r}"
    try:
        call = ast.parse(f"f({arguments})", mode="eval").body
    except SyntaxError as problem:
        raise InvalidArgument(advice) from problem
    if not isinstance(call, ast.Call) or call.args:
        raise InvalidArgument(advice)
    found: dict[str, object] = {}
    for keyword in call.keywords:
        if keyword.arg is None:
            raise InvalidArgument(advice)
        try:
            value = keyword.value
            found[keyword.arg.lower()] = value.id if isinstance(value, ast.Name) else ast.literal_eval(value)
        except ValueError as problem:
            raise InvalidArgument(f"`{keyword.arg}` must be a number or a word, got {words!r}") from problem
    return found
