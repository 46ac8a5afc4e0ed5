"""Files are replaced whole or not at all, and what is no file is left alone."""

import os
import stat

import pytest

from ewp.common.files import problem_with_target, written_aside


def test_an_interrupted_writer_leaves_the_old_file(tmp_path):
    path = tmp_path / "table.csv"
    path.write_text("old")

    def interrupted():
        with written_aside(path, "w") as file:
            file.write("half of the new")
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        interrupted()
    assert path.read_text() == "old"
    assert os.listdir(tmp_path) == ["table.csv"]


def test_the_mode_of_an_old_file_is_kept(tmp_path):
    path = tmp_path / "model.npz"
    path.write_bytes(b"old")
    path.chmod(0o600)
    with written_aside(path) as file:
        file.write(b"new")
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert path.read_bytes() == b"new"


def test_the_file_that_a_link_names_is_replaced(tmp_path):
    target, link = tmp_path / "real.csv", tmp_path / "link.csv"
    target.write_text("old")
    link.symlink_to(target)
    with written_aside(link, "w") as file:
        file.write("new")
    assert link.is_symlink()
    assert target.read_text() == "new"


def test_what_is_no_file_is_not_replaced(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(OSError, match="a device or a pipe"), written_aside(tmp_path / "pipe"):
        raise AssertionError("nothing is opened")
    assert stat.S_ISFIFO((tmp_path / "pipe").stat().st_mode)
    with pytest.raises(OSError, match="a folder"), written_aside(tmp_path):
        raise AssertionError("nothing is opened")
    assert "device" in problem_with_target(tmp_path / "pipe")


def test_a_folder_that_is_not_there_is_told(tmp_path):
    with (
        pytest.raises(FileNotFoundError, match="there is no folder"),
        written_aside(tmp_path / "no" / "x.csv"),
    ):
        raise AssertionError("nothing is opened")
