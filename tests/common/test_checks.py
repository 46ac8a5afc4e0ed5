"""Options that no array can have are told, not a traceback."""

import pytest

import ewp
from ewp.common.checks import check_integer, check_number
from tests.support.results import make_results


@pytest.mark.parametrize("value", [10**400, 10**30])
def test_numbers_that_are_too_large_are_told(value):
    with pytest.raises(ValueError, match="lam"):
        check_number("lam", 10**400, above=0)
    with pytest.raises(ValueError, match="n_init is larger than"):
        check_integer("n_init", value, least=1)


def test_wrong_kinds_are_told_with_the_name_of_the_option():
    results = make_results()
    with pytest.raises(ValueError, match="top='x'"):
        results.summary(top="x")
    with pytest.raises(ValueError, match="names=None"):
        results.compare_to(results.labels, names=None)
    with pytest.raises(ValueError, match="wbound='x'"):
        ewp.compare(results.data, 2, wbound="x")
