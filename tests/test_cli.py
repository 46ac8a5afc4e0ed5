"""The command line as a new user types it."""

from typer.testing import CliRunner

from ewp import __version__
from ewp.cli import app


def test_demo_prints_the_comparison_and_writes_the_picture(tmp_path):
    picture = tmp_path / "demo.png"
    result = CliRunner().invoke(app, ["demo", "--out", str(picture)])
    assert result.exit_code == 0
    assert "Entropy Weighted Power k-means" in result.output
    rows = [line.split() for line in result.output.splitlines() if "standardised" in line]
    kmeans, ewp = (float(row[1]) for row in rows[-2:])
    assert kmeans < 0.5
    assert ewp > 0.99
    assert picture.read_bytes().startswith(b"\x89PNG")


def test_a_missing_folder_is_named(tmp_path):
    result = CliRunner().invoke(app, ["demo", "--out", str(tmp_path / "no" / "demo.png")])
    assert result.exit_code == 2
    assert str(tmp_path / "no") in result.output


def test_version():
    result = CliRunner().invoke(app, ["--version"])
    assert result.output.strip() == f"ewp {__version__}"
