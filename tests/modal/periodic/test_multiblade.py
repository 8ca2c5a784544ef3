"""Multiblade coordinates: Hammond's rotor, isotropic rotors against Floquet, names, bad input."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.linalg as la

import assembly
import modal
from assembly.errors import InputError
from modal.periodic import floquet as analysis
from modal.periodic import slow_modes
from tests.support.rotor_blades import LAG_DAMPER, HingedRotor, blades
from tests.support.verdict_truth import refined

RPM = 2.0 * np.pi / 60.0


def spectrum(system: assembly.FrozenSystem) -> np.ndarray:
    """All eigenvalues, by LAPACK on the state matrix."""
    M, C, K = (A.toarray() for A in (system.M, system.damping, system.stiffness))
    n = len(M)
    lower = -la.solve(M, np.hstack([K, C]))
    return la.eigvals(np.vstack([np.eye(n, 2 * n, n), lower]))


# Largest growth rates, 1/s: all dampers; one out: Floquet, averaged multiblade, frozen.
HAMMOND = {
    100.0: (-1.870724, -0.153865, -0.937471, -0.000801),
    250.0: (-0.329525, 0.322031, -0.023022, -0.057435),
}


@pytest.mark.slow
@pytest.mark.parametrize("rpm", sorted(HAMMOND))
def test_four_columns_of_hammonds_rotor(rpm: float) -> None:
    whole, floquet, averaged, frozen = HAMMOND[rpm]
    speed = rpm * RPM
    same = modal.rotor_verdict(HingedRotor, [speed], blades(4))["growth_rate"].values[0]
    assert same[1:].tolist() == pytest.approx([whole, whole], abs=1e-6)

    def one_out(omega: float) -> HingedRotor:
        return HingedRotor(omega, (0.0, *(LAG_DAMPER,) * 3))

    verdict = modal.rotor_verdict(one_out, [speed], blades(4))
    found = verdict["growth_rate"].values[0]
    assert found.tolist() == pytest.approx([frozen, averaged, floquet], abs=1e-6)
    assert float(verdict["variation"][0]) > 0.01
    said = str(verdict.attrs["differences"])
    assert ("multiblade: stable" in said and "frozen: stable" in said) == (floquet > 0.0)


@pytest.mark.slow
@pytest.mark.parametrize("count", [3, 4])
def test_multiblade_modes_are_floquet_modes_where_the_blades_are_alike(count: int) -> None:
    """Also of a support that is not isotropic: constant in multiblade coordinates."""
    model = HingedRotor(20.0, (900.0,) * count)
    fixed = modal.multiblade(model, blades(count), 20.0)
    assert fixed.is_constant
    assert max(fixed.variation.values()) < 1e-13
    exact = spectrum(fixed.freeze(0.37))
    for value in spectrum(fixed.mean):
        assert abs(exact - value).min() < 1e-9
    floquet = modal.floquet(model, model.period)
    turns = np.exp(exact * model.period)
    for multiplier in floquet.multipliers:
        assert abs(turns - multiplier).min() < 1e-9
    # In these coordinates the strongest harmonic is the only one: frequencies without doubt.
    direct = modal.floquet(fixed, fixed.period)
    for value in direct.eigenvalues:
        assert abs(exact - value).min() < 1e-8 * abs(value)


def test_equations_are_those_of_the_model_in_other_coordinates() -> None:
    """q = T z: accelerations of both models agree at any state, for odd and even numbers."""
    rng, t, h = np.random.default_rng(3), 0.21, 1e-5
    for count in (3, 4, 5):
        model = HingedRotor(13.0, 500.0 * np.arange(1, count + 1))
        fixed = modal.multiblade(model, blades(count), 13.0)
        z, v, a = rng.standard_normal((3, count + 2))

        def q(s: float, z=z, v=v, a=a, fixed=fixed) -> np.ndarray:
            return fixed.physical(t + s, z + v * s + 0.5 * a * s * s)

        here, there = model.freeze(t), fixed.freeze(t)
        rate = (q(h) - q(-h)) / (2 * h)
        second = (q(h) - 2 * q(0.0) + q(-h)) / h**2
        own = here.M @ second + here.damping @ rate + here.stiffness @ q(0.0)
        new = there.M @ a + there.damping @ v + there.stiffness @ z
        T = fixed.coleman.matrix(t)
        np.testing.assert_allclose(new, T.T @ own, rtol=1e-4, atol=1e-4 * abs(own).max())
        np.testing.assert_allclose(fixed.coordinates(t, q(0.0)), z, atol=1e-12)


def test_names_follow_the_waves() -> None:
    """Without coupling the blade's frequency ν is seen at ν, ν + Ω and |ν − Ω|."""
    nu, speed = 7.0, 30.0
    lag = assembly.FrozenSystem(M=np.eye(4), K=nu**2 * np.eye(4))
    fixed = modal.multiblade(lag, [[0], [1], [2], [3]], speed)
    modes = modal.solve(fixed.mean, k=4)
    named = dict(zip(modes.eigenvalues.imag.round(9), fixed.names(modes), strict=True))
    assert named[speed + nu] == "progressive"
    assert named[speed - nu] == "regressive"
    others = [name for value, name in named.items() if value == nu]
    assert set(others) <= {"collective", "reactionless"}
    np.testing.assert_allclose(fixed.shares(modes).sum("group"), 1.0)


def test_campbell_with_names() -> None:
    family = modal.multiblade(HingedRotor, blades(4))
    tracks = family.track(np.linspace(30.0, 36.0, 4), k=6)
    names = set(tracks["name"].values.ravel())
    assert {"progressive", "regressive", "support"} <= names
    at = int(tracks["growth_rate"].values[0].argmax())
    assert tracks["name"].values[0, at] == "regressive"


def hub_and_blades(count: int, *, lame: float = 1.0) -> assembly.Mechanism:
    """Elastic blades welded to a rigid hub on an isotropic mast."""
    speed, radius = 25.0, 0.3
    section = assembly.rectangle(0.02, 0.06)
    bodies: dict[str, assembly.Body] = {}
    mast = assembly.rigid_body(20.0, (1.0, 1.0, 2.0))
    stiffness = np.diag([4e5, lame * 4e5, 2e6, 3e5, 3e5, 3e5])
    damping = np.diag([200.0, 200.0, 100.0, 20.0, 20.0, 20.0])
    bodies["mast"] = mast
    bodies["hub"] = assembly.rigid_body(10.0, (0.3, 0.3, 0.5))
    joints = [assembly.revolute("mast", "origin", "hub", "origin", name="shaft")]
    mount = assembly.bushing(
        "ground", (0, 0, 0), "mast", "origin", stiffness=stiffness, damping=damping, name="mount"
    )
    initial = {}
    for b in range(count):
        angle = 2.0 * np.pi * b / count
        place = (radius * np.cos(angle), radius * np.sin(angle), 0.0)
        bodies[f"b{b}"] = assembly.beam(1.5, section, assembly.aluminium, 3).with_damping(b=1e-5)
        joints.append(assembly.fixed("hub", place, f"b{b}", "start", turned=angle, name=f"root{b}"))
        initial[f"b{b}"] = (*place, 0.0, 0.0, angle)
    return assembly.Mechanism(
        bodies, joints, [assembly.driver("shaft", speed)], bushings=[mount], initial=initial
    )


@pytest.mark.slow
def test_elastic_blades_through_a_basis_of_their_multiblade_modes() -> None:
    """Floquet of the mechanism on 27 of 60 coordinates has the multipliers of the constant
    multiblade matrices."""
    rotor = hub_and_blades(3)
    fixed = modal.multiblade(rotor, ("b0", "b1", "b2"))
    assert fixed.is_constant
    modes = modal.solve(fixed.mean, k=2)
    basis = fixed.basis(modes)
    assert basis.shape[1] < rotor.freeze(0.0).n
    found = modal.floquet(rotor, fixed.period, method="reduced", basis=basis, k=8, tolerance=1e-9)
    for value in modes.eigenvalues:
        assert abs(found.multipliers - np.exp(value * fixed.period)).min() < 1e-9


@pytest.mark.slow
@pytest.mark.parametrize("eliminated", [False, True])
@pytest.mark.parametrize("tolerance", [1e-5, 1e-9])
def test_stated_errors_of_elastic_blades_hold_on_reduced_bases(
    tolerance: float, eliminated: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The exponents of constant multiblade matrices, with 30 digits. eliminated: fast shapes are,
    although all of them cost little; a part of the residual is then not orthogonal to the adjoint
    modes, which differ from the modes by the damping."""
    if eliminated:
        monkeypatch.setattr(slow_modes, "stepping_work", lambda *matrices: np.inf)
    monkeypatch.setattr(analysis, "DENSE", 0)  # small enough to be analysed without a basis
    assert 0.1 < max(shares_of_errors(tolerance)) <= 1.0


@pytest.mark.slow
def test_stated_errors_hold_on_a_space_without_fast_shapes_to_eliminate(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """What the space misses is not orthogonal to the adjoint modes either."""
    monkeypatch.setattr(slow_modes, "stepping_work", lambda *matrices: np.inf)
    monkeypatch.setattr(slow_modes.Spectra, "gap", lambda spectra, m: 0.0)
    assert 0.1 < max(shares_of_errors(1e-5)) <= 1.0


def test_elastic_blades_without_a_basis() -> None:
    """Stated errors are not of a space, and hold."""
    assert max(shares_of_errors(1e-5)) <= 1.0


def shares_of_errors(tolerance: float) -> list[float]:
    """Errors of the multipliers of a rotor over the stated ones."""
    rotor = hub_and_blades(3)
    fixed = modal.multiblade(rotor, ("b0", "b1", "b2"))
    found = modal.floquet(rotor, fixed.period, k=8, tolerance=tolerance)
    assert found.method == "reduced"
    matrices = [A.toarray() for A in (fixed.mean.M, fixed.mean.damping, fixed.mean.stiffness)]
    near, ratios = spectrum(fixed.mean), []
    for multiplier, error in zip(found.multipliers, found.error, strict=True):
        j = int(np.abs(np.exp(near * fixed.period) / multiplier - 1.0).argmin())
        exact = refined(*matrices, complex(near[j]))
        assert exact is not None
        apart = abs(np.exp(exact * fixed.period) / multiplier - 1.0)
        ratios.append(apart / (error * fixed.period))
    return ratios


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (dict(blades=[[2], [3]]), "3 blades or more"),
        (dict(blades=[[2], [3], [4, 5]]), "same number"),
        (dict(blades=[[2], [3], [9]]), "0 … 5"),
        (dict(blades=[[2], [3], [3]]), "named twice"),
        (dict(blades=[[2], [3], [4]], rate=0.0), "rate"),
        (dict(blades=[[2], [3], [4]], rate=None), "rate"),
        (dict(blades=["a", "b", "c"]), "no bodies"),
        (dict(blades=[[2], [3], [4]], turning=[(0,)]), "pairs"),
    ],
)
def test_bad_input(arguments: dict[str, object], message: str) -> None:
    with pytest.raises(InputError, match=message):
        modal.multiblade(HingedRotor(10.0), **{"rate": 10.0, **arguments})  # type: ignore[arg-type]
