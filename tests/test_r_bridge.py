"""The bridge says what it finds, with or without R."""

import stat

import r_bridge


def test_a_machine_without_r_gets_the_cure(monkeypatch, tmp_path):
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.delenv("R_HOME", raising=False)
    found = r_bridge.check()
    assert found.r_version is None
    assert not found.ready
    assert "apt-get install r-base-dev" in str(found)


def test_a_wrong_home_is_shown(monkeypatch, tmp_path):
    monkeypatch.setenv("R_HOME", str(tmp_path / "nowhere"))
    found = r_bridge.check()
    assert found.r_version is None
    assert str(tmp_path / "nowhere") in str(found)


def test_r_is_asked_for_its_home_and_version(monkeypatch, tmp_path):
    program = tmp_path / "bin" / "R"
    program.parent.mkdir()
    program.write_text("#!/bin/sh\nprintf '/opt/R\\n4.4.1\\n'\n")
    program.chmod(program.stat().st_mode | stat.S_IXUSR)
    monkeypatch.setenv("R_HOME", str(tmp_path))
    found = r_bridge.check()
    assert (found.r_home, found.r_version) == ("/opt/R", "4.4.1")
    assert "4.4.1" in str(found)
