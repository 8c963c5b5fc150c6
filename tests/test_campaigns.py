"""Samples of campaigns: never empty, the same whatever else is run, and all cases on demand."""

from types import SimpleNamespace

import pytest


def case(number: int, share: int | None, function: str = "test_a"):
    mark = None if share is None else pytest.mark.campaign(share).mark
    name = f"{function}[{number}]"
    return SimpleNamespace(name=name, nodeid=f"tests/test_some.py::{name}", get_closest_marker=lambda _: mark)


@pytest.fixture
def chosen(request):
    """Function from cases to those that are run."""
    (sample,) = (one for one in request.config.pluginmanager.get_plugins() if hasattr(one, "interruptible"))

    def choose(items, campaigns: bool = False, args: tuple[str, ...] = ()):
        left = []
        hook = SimpleNamespace(pytest_deselected=lambda items: left.extend(items))
        config = SimpleNamespace(getoption=lambda _: campaigns, args=args, hook=hook)
        kept = list(items)
        sample.pytest_collection_modifyitems(config, kept)
        assert [item for item in items if item in kept] == kept  # in their order
        assert len(kept) + len(left) == len(items)
        return [item.name for item in kept]

    return choose


@pytest.mark.parametrize("share", [2, 3, 7])
@pytest.mark.parametrize("count", [1, 2, 7, 50])
def test_one_in_so_many_is_run(chosen, count: int, share: int) -> None:
    cases = [case(number, share) for number in range(count)]
    assert len(chosen(cases)) == -(-count // share)
    assert len(chosen(cases, campaigns=True)) == count


def test_what_else_is_run_does_not_matter(chosen) -> None:
    cases = [case(number, 4) for number in range(40)]
    others = [case(0, None, "test_b"), *(case(number, 3, "test_c") for number in range(9))]
    both = chosen([*others, *reversed(cases)])
    assert {name for name in both if "test_a" in name} == set(chosen(cases))
    assert "test_b[0]" in both


def test_a_case_that_is_named_is_run(chosen) -> None:
    cases = [case(number, 5) for number in range(20)]
    left = next(one for one in cases if one.name not in chosen(cases))
    assert left.name in chosen(cases, args=(left.nodeid,))
