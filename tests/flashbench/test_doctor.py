"""The doctor names what is missing, says what to do, and its exit code is worth trusting."""

from importlib.metadata import PackageNotFoundError

import pytest

from flashbench import doctor
from flashbench.doctor import Finding
from specflash.errors import UserError


def good():
    yield Finding("good", "ok", "1")


def doubtful():
    yield Finding("doubtful", "warn", "2", "look at it")


def bad():
    yield Finding("bad", "fail", "3", "repair it")


@pytest.mark.parametrize(("alone", "with_packages", "healthy"), [
    ((good,), (good,), True),
    ((good,), (doubtful,), True),
    ((good,), (bad,), False),
    ((bad,), (good,), False),
])
def test_only_a_failure_is_a_failure(monkeypatch, alone, with_packages, healthy):
    monkeypatch.setattr(doctor, "ALONE", alone)
    monkeypatch.setattr(doctor, "WITH_PACKAGES", with_packages)
    assert doctor.run_doctor() is healthy


def test_what_fails_is_named_with_its_advice(monkeypatch, capsys):
    monkeypatch.setattr(doctor, "ALONE", (good,))
    monkeypatch.setattr(doctor, "WITH_PACKAGES", (doubtful, bad))
    doctor.run_doctor()
    out = capsys.readouterr().out
    assert "repair it" in out
    assert out.splitlines()[-1] == "missing: bad"


def test_nothing_is_imported_from_a_broken_installation(monkeypatch, capsys):
    monkeypatch.setattr(doctor, "ALONE", (bad,))
    monkeypatch.setattr(doctor, "WITH_PACKAGES", (doubtful,))
    doctor.run_doctor()
    assert "doubtful" not in capsys.readouterr().out


def test_this_installation_has_the_pinned_packages_and_tools():
    findings = [finding for check in (doctor.python, doctor.packages, doctor.compiler) for finding in check()]
    assert {finding.check: finding.state for finding in findings} == {
        "python": "ok", "packages": "ok", "g++": "ok", "ninja": "ok"}


def test_a_missing_package_fails_and_another_version_warns(monkeypatch):
    pins = doctor._pins(doctor.REPOSITORY / "constraints.txt")

    def without(missing: set[str], other: set[str]):
        def version(name: str) -> str:
            if name in missing:
                raise PackageNotFoundError(name)
            return "0.0.1" if name in other else pins[name]
        monkeypatch.setattr(doctor, "version", version)
        return next(doctor.packages())

    assert without(set(), set()).state == "ok"
    assert without(set(), {"deepspeed"}) == Finding(
        "packages", "warn", f"deepspeed 0.0.1 (pinned {pins['deepspeed']})", "pip install -c constraints.txt -e .")
    assert without({"mlflow"}, {"deepspeed"}).found == "missing: mlflow"


def test_a_missing_model_wheel_is_a_failure_with_the_command(monkeypatch):
    from specflash.smol import language_model
    monkeypatch.setattr(language_model, "WHEEL", "no-such-wheel")
    language_model_finding = next(doctor.models())
    assert language_model_finding.state == "fail"
    assert "pip install" in language_model_finding.advice


def test_a_ray_that_does_not_start_is_a_finding(monkeypatch):
    from flashbench import ray_session

    def refuse(**_):
        raise UserError("Ray does not start on this machine: busy")

    monkeypatch.setattr(ray_session, "local_ray", refuse)
    (found,) = doctor.ray_starts()
    assert (found.state, found.found) == ("fail", "Ray does not start on this machine: busy")
