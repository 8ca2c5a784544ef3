"""`modal.stability` on cases whose true stability is known from elsewhere."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.linalg as la
import scipy.sparse as sp
from numpy.typing import NDArray

import assembly
import modal
import modal.proofs.verdict
from assembly.bodies.rotor_parts import Bearing
from assembly.errors import ConvergenceError, InputError
from assembly.linalg.combination import Combination
from assembly.system.frozen import FrozenSystem
from modal.eigen.quadratic import Quadratic
from modal.eigen.solvers import dense as dense_solver
from modal.proofs import proving
from modal.proofs.judge import COUNT, MODES
from modal.proofs.one_state import decays
from modal.proofs.proving import ProvingSpace
from modal.proofs.ratios import is_semidefinite, lanczos
from modal.reduction.affine import AffineFamily
from modal.reduction.body_space import BodySpace
from modal.reduction.mass_basis import MassBasis
from modal.reduction.reference_operator import ReferenceOperator

Array = NDArray[np.float64]
I2, J = np.eye(2), np.array([[0.0, 1.0], [-1.0, 0.0]])


def dense(system: FrozenSystem) -> tuple[Array, Array, Array]:
    return system.M.toarray(), system.damping.toarray(), system.stiffness.toarray()


def spectrum(system: FrozenSystem) -> NDArray[np.complex128]:
    """All eigenvalues: LAPACK on the state matrix in unknowns of unit mass."""
    M, C, K = dense(system)
    d = 1.0 / np.sqrt(np.diag(M))
    M, C, K = (A * np.outer(d, d) for A in (M, C, K))
    n = len(M)
    lower = -la.solve(M, np.hstack([K, C]))
    return np.asarray(la.eigvals(np.vstack([np.eye(n, 2 * n, n), lower])))


# Classic boundaries of stability.


@pytest.mark.parametrize("side, verdict", [(-1, "stable"), (1, "flutter")])
@pytest.mark.parametrize("distance", [1e-2, 1e-4, 1e-6])
def test_internal_damping_sets_in_at_its_closed_form(
    side: int, verdict: str, distance: float
) -> None:
    """Jeffcott rotor: (D − iΩc_i/ω) > 0, so the onset is Ω = ω (1 + c_e/c_i) (Genta, 2005, 6.3)."""
    inner, outer, omega = 0.03, 0.05, 7.0
    spin = omega * (1.0 + outer / inner) * (1.0 + side * distance)
    system = FrozenSystem(M=I2, D=(inner + outer) * I2, K=omega**2 * I2, K_D=inner * spin * J)
    result = modal.stability(system)
    assert (result.verdict, result.proof) == (verdict, "count" if side < 0 else "mode")
    # The box is sharp here: its height is the frequency of the mode at the onset.
    assert result.box.angular_frequency == pytest.approx(omega * (1.0 + side * distance))


@pytest.mark.parametrize("ratio, verdict", [(1.0 - 1e-6, "stable"), (1.0 + 1e-6, "flutter")])
def test_oil_whip_sets_in_at_twice_the_critical_speed(ratio: float, verdict: str) -> None:
    """Full films, [[0, cΩ/2], [−cΩ/2, 0]]: κ = Ω/2, and Ω = 2ω at the onset (closed form)."""
    omega, c = 50.0, 3.0
    spin = 2.0 * omega * ratio
    system = FrozenSystem(M=I2, D=c * I2, K=omega**2 * I2, K_D=0.5 * c * spin * J)
    result = modal.stability(system)
    assert result.verdict == verdict
    assert result.box.circulatory == pytest.approx(0.5 * spin, rel=1e-12)


def test_a_shaft_that_only_a_film_holds_whirls() -> None:
    """λ² + cλ ± icΩ/2 = 0 for a mass on a full film: unstable at every speed."""
    c, spin = 3.0, 100.0
    root = max(np.roots([1.0, c, -0.5j * c * spin]), key=lambda value: value.real)
    result = modal.stability(FrozenSystem(M=I2, D=c * I2, K_D=0.5 * c * spin * J))
    assert (result.verdict, result.unstable_modes) == ("flutter", 1)
    assert result.growth_rate == pytest.approx(root.real, rel=1e-12)
    assert result.critical_frequency == pytest.approx(abs(root.imag) / (2.0 * np.pi))


def ziegler(load: float, damping: float) -> FrozenSystem:
    """Two links of length 1, masses 2 and 1, springs 1, a load that follows the second link."""
    link = np.array([[2.0, -1.0], [-1.0, 1.0]])
    follower = np.array([[-load, load], [0.0, 0.0]])
    return FrozenSystem(M=[[3.0, 1.0], [1.0, 1.0]], D=damping * link, K=link, K_D=follower)


@pytest.mark.parametrize(
    "critical, damping",
    [
        (3.5 - np.sqrt(2.0), 0.0),  # Ziegler, Ing.-Arch. 20 (1952) 49
        (41.0 / 28.0 + 0.5 * 0.1**2, 0.1),  # Herrmann and Jong, J. Appl. Mech. 32 (1965) 592
    ],
)
def test_zieglers_pendulum(critical: float, damping: float) -> None:
    assert modal.stability(ziegler(critical * (1.0 - 1e-6), damping)).verdict == "stable"
    assert modal.stability(ziegler(critical * (1.0 + 1e-6), damping)).verdict == "flutter"


def test_becks_column_flutters_at_20_05() -> None:
    """20.0509 EI/L² (Beck, Z. angew. Math. Phys. 3 (1952) 225), by Ritz polynomials x²…x⁹."""
    n = 8
    points, weights = np.polynomial.legendre.leggauss(20)
    x, weights = 0.5 * (points + 1.0), 0.5 * weights
    power = np.arange(2, n + 2)
    w = x[:, None] ** power
    w1, w2 = (
        power * x[:, None] ** (power - 1),
        power * (power - 1) * x[:, None] ** (power - 2),
    )
    squares, U = la.eigh(w2.T @ (weights[:, None] * w2), w.T @ (weights[:, None] * w))
    load = U.T @ (np.outer(np.ones(n), power) - w1.T @ (weights[:, None] * w1)) @ U

    def verdict(p: float) -> str:
        return modal.stability(FrozenSystem(M=np.eye(n), K=np.diag(squares), K_D=p * load)).verdict

    assert [verdict(p) for p in (20.05, 20.052)] == ["stable", "flutter"]


def rocket(thrust: float, damping: float = 0.0, n: int = 10) -> FrozenSystem:
    """A free uniform beam under a thrust that follows its end, by Legendre polynomials."""
    points, weights = np.polynomial.legendre.leggauss(40)
    x, weights = 0.5 * (points + 1.0), 0.5 * weights
    basis = [
        np.polynomial.Legendre.basis(j, [0.0, 1.0]) * float(np.sqrt(2.0 * j + 1.0))
        for j in range(n)
    ]
    slopes, curvatures = (np.array([f.deriv(d)(x) for f in basis]) for d in (1, 2))
    K = (curvatures * weights) @ curvatures.T
    end = np.outer([f(1.0) for f in basis], [f.deriv()(1.0) for f in basis])
    load = thrust * (end - (slopes * weights * x) @ slopes.T)
    K, rigid = 0.5 * (K + K.T), np.eye(n)[:, :2]
    return FrozenSystem(M=np.eye(n), D=damping * K, K=K, K_D=load, rigid=rigid)


def test_the_flutter_of_a_free_beam_under_thrust_is_elastic() -> None:
    """109.7 EI/L² (Beal, AIAA J. 3 (1965) 486). Its modes move the beam as a whole, too."""
    assert modal.stability(rocket(109.5)).verdict == "stable"
    assert modal.stability(rocket(110.0)).verdict == "flutter"
    fast = modal.stability(rocket(200.0))
    assert fast.growth_rate == pytest.approx(spectrum(rocket(200.0)).real.max(), rel=1e-9)
    assert len(fast.eigenvalues) == 8


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("thrust, verdict", [(60.0, "stable"), (100.0, "flutter")])
def test_internal_damping_lowers_the_thrust_of_flutter(thrust: float, verdict: str) -> None:
    """A four-fold zero, one Jordan chain, beside the elastic modes: those by LAPACK."""
    system = rocket(thrust, 1e-4)
    values = spectrum(system)
    elastic = values[np.argsort(np.abs(values))[4:]]
    result = modal.stability(system)
    assert result.verdict == verdict
    assert result.growth_rate == pytest.approx(elastic.real.max(), rel=1e-6)


@pytest.mark.parametrize("speed, limit", [(0.0, 16040.84), (400.0, 46870.16)])
def test_a_beam_that_spins_up_at_the_limit_of_stability(speed: float, limit: float) -> None:
    """Clamped, 120 unknowns, D = 6 M + 1e-6 K; the limit of ε by bisection with LAPACK."""
    beam = assembly.beam(
        length=1.0, section=assembly.rectangle(0.05, 0.02), material=assembly.steel, elements=20,
        clamped="start",
    ).with_damping(a=6.0, b=1e-6)  # fmt: skip
    below, above = (
        beam.freeze(omega=(0, 0, speed), epsilon=(0, 0, limit * (1.0 + s))) for s in (-1e-4, 1e-4)
    )
    result = modal.stability(below)
    assert (result.verdict, result.proof) == ("stable", "count")
    assert modal.stability(above).verdict == "divergence"
    # κ = max |xᴴNx| / xᴴDx, here by the square root of D.
    D, N = below.D.toarray(), below.stiffness.toarray()
    half = la.inv(la.cholesky(D, lower=True))
    expected = np.linalg.norm(half @ (0.5 * (N - N.T)) @ half.T, 2)
    assert result.box.circulatory == pytest.approx(expected, rel=1e-8)
    if speed == 0.0:
        assert result.box.circulatory == pytest.approx(757.0, abs=0.5)


# What a look at the lowest modes only misses.


class InnerDamped:
    """Shaft Ø30 mm, 1 m, in rigid bearings, 400 N·s/m at midspan: freeze(omega, inner)."""

    def __init__(self) -> None:
        shaft = assembly.rotor(
            [(1.0, assembly.circle(0.03))], assembly.steel, 20,
            bearings=[Bearing(0.0, np.inf), Bearing(1.0, np.inf), Bearing(0.5, 0.0, 400.0)],
            internal_damping=1.0,
        )  # fmt: skip
        self.parts = shaft.freeze(1.0).parts

    def freeze(self, omega: float, inner: float) -> FrozenSystem:
        n = self.parts["M"].shape[0]
        inside, damper = self.parts["D"].terms
        D = Combination((n, n), ((inner * inside[0], inside[1]), damper))
        kept = {name: self.parts[name] for name in ("M", "K")}
        C, K_D = self.parts["C"].scaled(omega), self.parts["K_D"].scaled(inner * omega)
        return FrozenSystem(**kept, C=C, D=D, K_D=K_D)


def test_the_map_looks_at_as_many_modes_as_the_box_holds() -> None:
    """The next modes grow at 14.779 1/s (LAPACK on all modes); the two lowest decay."""
    model = InnerDamped()
    real = spectrum(model.freeze(2500.0, 2e-5)).real.max()
    assert real == pytest.approx(14.779, abs=1e-3)
    two = modal.solve(model.freeze(2500.0, 2e-5), k=2)
    assert two.growth_rate.max() < -60.0
    grid = modal.stability_map(
        model, omega=np.linspace(0.0, 2500.0, 5), inner=np.linspace(0.0, 2e-5, 3), k=2,
        progress=False,
    )  # fmt: skip
    last = grid.isel(omega=-1, inner=-1)
    assert (int(last.verdict), int(last.proof)) == (2, 4)
    assert float(last.growth_rate) == pytest.approx(real, rel=1e-6)
    assert np.all(grid.proof.values[grid.verdict.values == 0] > 0)


# The box.


def random_system(rng: np.random.Generator) -> FrozenSystem:
    n = int(rng.integers(2, 9))
    L, A = rng.standard_normal((2, n, n))
    few = int(rng.integers(2, n + 1))
    D, N, G = np.zeros((n, n)), np.zeros((n, n)), np.zeros((n, n))
    B, S, C = rng.standard_normal((3, few, few))
    D[:few, :few], N[:few, :few] = B @ B.T + 0.1 * np.eye(few), 3.0 * (S - S.T)
    G[:few, :few] = rng.choice([0.0, 1.0, 5.0]) * (C - C.T)
    K = A + A.T + rng.choice([0.0, 4.0]) * np.eye(n)
    return FrozenSystem(M=L @ L.T + np.eye(n), C=G, D=D * rng.choice([0.01, 1.0]), K=K, K_D=N)


@pytest.mark.slow
def test_no_unstable_eigenvalue_is_outside_the_box() -> None:
    """LAPACK on 300 random systems: full and local damping, indefinite stiffness."""
    rng = np.random.default_rng(5)
    unstable = 0
    for _ in range(300):
        system = random_system(rng)
        box = modal.stability(system).box
        values = spectrum(system)
        values = values[values.real > 1e-9]
        unstable += len(values)
        assert np.all(np.abs(values.imag) <= box.angular_frequency * (1.0 + 1e-9) + 1e-9)
        assert np.all(values.real <= box.growth * (1.0 + 1e-9))
    assert unstable > 300


# What round-off must not decide.


def test_a_little_negative_damping_beside_much_is_seen() -> None:
    """D = 1e9 [[1, 1], [1, 1 − 1e-13]] gives energy to (1, −1): growth 2.500415e-5 (mpmath, 50
    digits)."""
    D = 1e9 * np.array([[1.0, 1.0], [1.0, 1.0 - 1e-13]])
    assert not is_semidefinite(sp.csr_matrix(D))
    result = modal.stability(FrozenSystem(M=I2, K=I2, D=D))
    assert result.verdict == "flutter"
    assert result.growth_rate == pytest.approx(2.500415e-5, abs=result.error_bound)


@pytest.mark.parametrize("together", [True, False])
def test_weak_cross_stiffness_beside_a_stiff_link_is_seen(together: bool) -> None:
    """Two masses linked by 1e14 N/m on soft springs: growth 0.034854897 1/s (mpmath, 50 digits)."""
    link = 1e14 * np.array([[1.0, -1.0], [-1.0, 1.0]]) + np.diag([100.0, 0.0])
    K, cross = np.kron(I2, link), np.kron(J, np.diag([1.0, 0.0]))
    parts = dict(K=K + cross) if together else dict(K=K, K_D=cross)
    result = modal.stability(FrozenSystem(M=np.eye(4), D=1e-3 * np.eye(4), **parts))
    assert result.verdict == "flutter"
    assert result.growth_rate == pytest.approx(0.034854897, abs=result.error_bound)


def test_a_failure_of_lapacks_iteration_is_an_error_of_the_package(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def eig(A: Array, **options: bool) -> object:
        raise la.LinAlgError("eig algorithm (geev) did not converge")

    monkeypatch.setattr(dense_solver.la, "eig", eig)
    K = np.array([[1.0, 1.0], [1.0, 1.0]])
    system = FrozenSystem(M=I2, D=np.diag([0.1, 0.2]), K=K, K_D=0.0 * I2)
    with pytest.raises(ConvergenceError, match="did not converge"):
        modal.solve(system, k=4, backend="dense", deflation=None)


@pytest.mark.parametrize("seed", range(4))
def test_the_verdict_does_not_depend_on_units(seed: int) -> None:
    """Growth of 1e-9 of |λ|: other units of length, mass and time leave the verdict and rate."""
    rng = np.random.default_rng(seed)
    n, grows = 4, 1.0 if seed % 2 else -1.0
    T = la.qr(rng.standard_normal((n, n)))[0]
    D = T.T @ np.diag([-2e-9 * grows, 0.1, 0.2, 0.3]) @ T
    K = T.T @ np.diag([1.0, 4.0, 9.0, 16.0]) @ T
    one = FrozenSystem(M=np.eye(n), D=0.5 * (D + D.T), K=0.5 * (K + K.T))
    d = 2.0 ** rng.integers(-13, 14, n)
    scaled = [A * np.outer(d, d) for A in dense(one)]
    other = FrozenSystem(M=scaled[0], D=scaled[1] * 2.0**7, K=scaled[2] * 2.0**14)
    first, second = modal.stability(one), modal.stability(other)
    assert first.verdict == second.verdict == ("flutter" if grows > 0.0 else "stable")
    if grows > 0.0:
        assert second.growth_rate == pytest.approx(2.0**7 * first.growth_rate, rel=1e-5)


def test_a_weak_negative_direction_is_within_the_bounds_of_lanczos() -> None:
    """Springs in a row, one of 1200 negative beside its reference: the lowest ratio by LAPACK."""
    rng = np.random.default_rng(0)
    n = 1200
    share = 0.001 + rng.random(n)
    share[5] = -0.02
    stiffness = 1e8 * (1.0 + rng.random(n))

    def row(k: Array) -> sp.csr_matrix:
        diagonal = k.copy()
        diagonal[:-1] += k[1:]
        return sp.csr_matrix(sp.diags([diagonal, -k[1:], -k[1:]], [0, 1, -1]))

    A, B = row(stiffness), row(stiffness * share)
    # In the strains, A = EᵀkE and B = Eᵀ(k s)E with E square: the ratios are the shares.
    solve = sp.linalg.factorized(sp.csc_matrix(A))
    low, high = lanczos(
        lambda x: np.column_stack([solve(c) for c in x.T]), A.__matmul__, [lambda x: B @ x],
        np.sqrt(A.diagonal()), steps=6,
    )[0]  # fmt: skip
    assert low <= share.min() and share.max() <= high


# Other proofs, and none.


def chain(n: int, cross: float, dampers_from: int = 0) -> FrozenSystem:
    """Masses 1 in a row on springs, moving in two directions; cross stiffness on the first.

    dampers_from: number of the first mass with a damper, 0.05 to 0.1 N·s/m.
    """
    k = sp.diags([np.full(n, 2.1), np.full(n - 1, -1.0), np.full(n - 1, -1.0)], [0, 1, -1])
    K = sp.kron(k, np.diag([1.0, 1.3]), format="csr")
    N = sp.lil_matrix((2 * n, 2 * n))
    N[0, 1], N[1, 0] = cross, -cross
    d = np.linspace(0.05, 0.1, 2 * n) * (np.arange(2 * n) >= 2 * dampers_from)
    M = sp.identity(2 * n, format="csr")
    return FrozenSystem(M=M, D=sp.diags(d), K=K, K_D=sp.csr_matrix(N))


@pytest.mark.parametrize("n", [20, 400])
def test_lyapunovs_function_of_small_and_large_systems(n: int) -> None:
    """Where it proves decay, LAPACK finds it (n = 20); it does not prove too much."""
    assert decays(Quadratic(chain(n, 0.005)))
    assert not decays(Quadratic(chain(n, 5.0)))
    if n == 20:
        assert spectrum(chain(n, 0.005)).real.max() < 0.0 < spectrum(chain(n, 5.0)).real.max()


def test_forces_that_no_damper_holds_leave_a_large_system_undecided(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Circulatory forces on a mass without a damper: no box, and nothing grows (LAPACK)."""
    system = chain(160, 1e-3, dampers_from=1)
    assert spectrum(system).real.max() < 0.0
    assert modal.stability(system).proof == "count"
    monkeypatch.setattr(modal.proofs.verdict, "AFFORDABLE", 0)
    result = modal.stability(system)
    assert (result.verdict, result.proof) == ("undecided", "modes")
    assert np.isfinite(result.examined_to)
    assert "undecided above" in str(result)
    assert modal.stability(chain(20, 1e-3, dampers_from=1)).proof == "count"


@pytest.mark.parametrize("n", [2, 400])
@pytest.mark.parametrize("fault", ["indefinite", "not symmetric"])
def test_a_wrong_mass_matrix_is_refused(n: int, fault: str) -> None:
    M = np.eye(n)
    if fault == "indefinite":
        M[-1, -1] = -1.0
    else:
        M[-1, 0] = 0.5
    with pytest.raises(InputError, match="M: expected a symmetric positive definite matrix"):
        modal.stability(FrozenSystem(M=M, K=np.eye(n)))


def string(distance: float) -> tuple[FrozenSystem, int]:
    """A string of 60 masses with internal damping, and the mode that flutters first, from 0.

    Mode j flutters where Ω > ω_j + c/(b ω_j), its damping c + b ω_j², its cross stiffness b Ω ω_j².
    distance: of Ω from the least of these speeds, relative.
    """
    n, b, c = 60, 1e-3, 0.02
    speeds = 40.0 * np.sin(0.5 * np.pi * np.arange(1, n + 1) / (n + 1))
    onsets = speeds + c / (b * speeds)
    omega = onsets.min() * (1.0 + distance)
    k = 400.0 * sp.diags([np.full(n, 2.0), np.full(n - 1, -1.0), np.full(n - 1, -1.0)], [0, 1, -1])
    K = sp.kron(k, I2, format="csr")
    M = sp.identity(2 * n, format="csr")
    K_D = b * omega * sp.kron(k, J, format="csr")
    return FrozenSystem(M=M, D=c * M + b * K, K=K, K_D=K_D), int(onsets.argmin())


@pytest.mark.parametrize(
    "distance, verdict, proof",
    [
        (-0.01, "stable", "count"),
        (-0.005, "stable", "count"),
        (-0.002, "stable", "count"),
        (0.01, "flutter", "mode"),
    ],
)
def test_the_way_of_large_systems(
    distance: float, verdict: str, proof: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(modal.proofs.verdict, "ALL_MODES", 0)
    result = modal.stability(string(distance)[0])
    assert (result.verdict, result.proof) == (verdict, proof)


@pytest.mark.parametrize("damper, known", [(-10.0, 10), (10.0, 601)])
def test_lowest_modes_decide_where_no_basis_holds_them(damper: float, known: int) -> None:
    """A chain with a spring far below zero: K_ref is stiffer than all of it. With a negative damper
    the lowest modes grow; with a positive one only that of the spring does, which LAPACK finds."""
    n = 600
    D, K = sp.lil_matrix((n, n)), sp.diags([2.0, -1.0, -1.0], [0, 1, -1], shape=(n, n)).tolil()
    D[3, 3], K[300, 300] = damper, -18.0
    system = FrozenSystem(M=sp.identity(n, format="csr"), D=D.tocsr(), K=sp.csr_matrix(1e8 * K))
    result, lowest = modal.stability(system), modal.solve(system, k=10)
    assert (len(result.eigenvalues), np.isfinite(result.examined_to)) == (known, damper < 0.0)
    apart = np.abs(result.eigenvalues[:10] - lowest.eigenvalues)
    assert (apart <= result.bounds[:10] + lowest.error_bound).all()
    assert result.proof == "mode"


@pytest.mark.parametrize("dropped", [False, True])
def test_a_basis_without_the_mode_that_flutters_proves_nothing(
    dropped: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The string just above its onset in a basis of 40 exact modes, with and without that one."""
    system, first = string(1e-4)
    squares, X = la.eigh(system.K.toarray())
    kept = np.setdiff1d(np.arange(40), [2 * first, 2 * first + 1] if dropped else [])
    assert squares[2 * first] < squares[40]

    def start(reference: ReferenceOperator, count: int) -> MassBasis:
        basis = MassBasis(reference.mass)
        basis.append(*basis.directions(X[:, kept].copy()))
        return basis

    monkeypatch.setattr(ReferenceOperator, "start", start)
    monkeypatch.setattr(BodySpace, "needed", lambda self, at: np.inf)  # all 40 are resolved
    monkeypatch.setattr(proving, "REACH", 0.0)
    family = AffineFamily(lambda point: system, {})
    at = family.coefficients([{}])
    reducer = ProvingSpace(family, at, 4)
    found, proof = reducer.proved(at)
    grows = bool(np.nanmax(found.modes.eigenvalues.real) > 0.0)
    reducer.destroy()
    assert (grows, int(proof[0])) == ((False, MODES) if dropped else (True, COUNT))


def test_a_map_whose_local_basis_is_the_whole_basis() -> None:
    """Three unknowns over 5 × 5 points: every point beside LAPACK on all modes."""
    M, K = np.diag([1.0, 2.0, 3.0]), np.diag([1.0, 5.0, 9.0])
    D, N = 0.02 * np.eye(3), np.array([[0.0, 1.0, 0.5], [-1.0, 0.0, 0.2], [-0.5, -0.2, 0.0]])
    terms = [sp.csr_matrix(A) for A in (M, D, K, N)]

    class Model:
        def freeze(self, damping: float, cross: float) -> FrozenSystem:
            pairs = zip((1.0, damping, 1.0, cross), terms, strict=True)
            parts = [Combination((3, 3), ((c, A),)) for c, A in pairs]
            return FrozenSystem(M=parts[0], D=parts[1], K=parts[2], K_D=parts[3])

    model = Model()
    grid = modal.stability_map(
        model, damping=np.linspace(0.5, 2.0, 5), cross=np.linspace(0.1, 4.0, 5), k=2, progress=False
    )
    for damping in grid.damping.values:
        for cross in grid.cross.values:
            point = grid.sel(damping=damping, cross=cross)
            grows = spectrum(model.freeze(damping, cross)).real.max() > 0.0
            assert (int(point.verdict) > 0) == grows
            assert int(point.proof) > 0


@pytest.mark.parametrize("k", [2, 20])
def test_maps_that_ask_for_more_modes_than_there_are(k: int) -> None:
    """A beam of 12 unknowns over speed and acceleration, beside LAPACK on all modes."""
    beam = assembly.beam(
        length=1.0, section=assembly.rectangle(0.05, 0.02), material=assembly.steel, elements=2,
        clamped="start",
    ).with_damping(a=6.0, b=1e-6)  # fmt: skip
    grid = modal.stability_map(
        beam, omega=np.linspace(0, 100, 3), epsilon=np.linspace(0, 1e5, 3), axis=(0, 0, 1), k=k,
        progress=False,
    )  # fmt: skip
    for omega in grid.omega.values:
        for epsilon in grid.epsilon.values:
            point = grid.sel(omega=omega, epsilon=epsilon)
            system = beam.freeze(omega=(0, 0, omega), epsilon=(0, 0, epsilon))
            assert (int(point.verdict) > 0) == bool(spectrum(system).real.max() > 0.0)
            assert int(point.proof) > 0


def test_matrices_of_whole_numbers_are_those_of_the_same_real_ones() -> None:
    """Sparse matrices of integers, given by a user."""
    parts = dict(M=np.diag([2, 3]), K=np.array([[4, 1], [1, 9]]), C=np.array([[0, 1], [-1, 0]]))
    whole = FrozenSystem(**{name: sp.csr_matrix(A) for name, A in parts.items()})
    real = FrozenSystem(**{name: sp.csr_matrix(A.astype(float)) for name, A in parts.items()})
    assert str(modal.stability(whole)) == str(modal.stability(real))
