"""The demand for sparcl, made by the mark alone."""

import pytest

from tests.support.r import require_sparcl


@pytest.fixture(autouse=True)
def _sparcl(request):
    if request.node.get_closest_marker("sparcl") is not None:
        require_sparcl()
