"""Importing the package loads what a fit needs and nothing that only pictures or pages do."""

import ewp
from tests.support.r import run_python

LATE = ("matplotlib", "statsmodels", "dask", "rpy2", "typer", "jinja2", "r_bridge")


def test_import_leaves_the_rest_for_later():
    code = "import sys, ewp; print(*sorted({name.split('.')[0] for name in sys.modules}))"
    loaded = run_python(code).stdout.split()
    assert "ewp" in loaded
    assert not set(LATE) & set(loaded)


def test_public_names_are_few_and_there():
    assert len(ewp.__all__) <= 13
    assert all(hasattr(ewp, name) for name in ewp.__all__)
