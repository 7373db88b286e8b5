"""Quantiles at once, modes, means and triangles as users call them: shapes, order, ties, groups, errors, ledger."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pytest

import dpfast
from dpfast import ArgumentError, ArgumentTypeError, Domain, Ledger, OutsideDomainError, Privacy, Stream
from dpfast.duff._wide import Wide, below, first_is_taken, happens, pick, power_of, wide_numbers

METHODS = ["joint", "recursive", "independent"]
DELAYS = np.arange(20_000) % 500


def rng(seed: int = 1) -> Stream:
    return Stream.insecure(seed)


@pytest.mark.parametrize("method", METHODS)
def test_answers_come_in_the_order_of_the_quantiles_and_rise_with_them(method: Any) -> None:
    for seed in range(5):
        found = dpfast.quantiles(
            DELAYS, [0.9, Fraction(1, 10), 0.5, 0.9], bounds=(0, 600), epsilon=0.02, method=method, rng=rng(seed)
        )
        assert found.dtype == np.int64
        assert found[0] == found[3]
        assert found[1] <= found[2] <= found[0]
    exact = dpfast.quantiles(DELAYS, [0.1, 0.5, 0.9], bounds=(0, 600), epsilon=9.0, method=method, rng=rng())
    assert np.abs(exact - [50, 250, 450]).max() <= 3


@pytest.mark.parametrize("method", METHODS)
def test_heavy_ties_return_the_tied_value(method: Any) -> None:
    random = np.random.default_rng(0)
    values = np.where(random.random(50_000) < 0.8, 7, random.integers(0, 100, 50_000))
    found = dpfast.quantiles(values, [0.25, 0.5, 0.75], bounds=(0, 100), epsilon=1.0, method=method, rng=rng())
    assert found.tolist() == [7, 7, 7]
    assert dpfast.quantiles([7] * 4000, [0.5], bounds=(0, 10), epsilon=1.0, method=method, rng=rng()).tolist() == [7]


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("neighbours", ["add_remove", "replace_one"])
def test_few_rows_and_any_epsilon_are_answered(method: Any, neighbours: Any) -> None:
    for values in ([], [3.0], [float("nan"), 2.0, None], [0.0] * 1491 + [1.0], [0.0] * 1492 + [1.0]):
        for epsilon in (0.0, 1e-12, 1.0, 1e6):
            found = dpfast.quantiles(
                values, [0.5, 1.0], bounds=(0, 10), epsilon=epsilon, neighbours=neighbours, method=method, rng=rng()
            )
            assert found.shape == (2,)
            assert ((found >= 0) & (found <= 10)).all()
    assert dpfast.quantiles([1.0], [], bounds=(0, 10), epsilon=1.0, method=method, rng=rng()).shape == (0,)


def test_groups_types_and_wide_grids() -> None:
    found = dpfast.quantiles(DELAYS, [0.5, 0.9], bounds=(0, 600), epsilon=4.0, by=DELAYS % 3, keys=[0, 1, 2, 9], rng=rng())
    assert found.shape == (4, 2)
    assert np.abs(found[:3] - [250, 450]).max() <= 6
    days = np.datetime64("2026-01-01", "D") + np.arange(1000)
    bounds = (np.datetime64("2020-01-01"), np.datetime64("2030-01-01"))
    middle = dpfast.quantiles(days, [0.5], bounds=bounds, epsilon=2.0, rng=rng())
    assert abs((middle[0] - days[499]).astype(int)) < 20
    huge = dpfast.quantiles(np.arange(3000) << 48, [0.5], bounds=(0, 1 << 61), epsilon=2.0, rng=rng())
    assert abs(int(huge[0]) - (1499 << 48)) < 100 << 48


def test_a_keyed_stream_repeats_and_a_ledger_is_charged_once(tmp_path: Any) -> None:
    def draw(**more: Any) -> list[int]:
        stream = Stream(key=bytes(32), context="release 1")
        return dpfast.quantiles(
            DELAYS, [0.2, 0.6], bounds=(0, 600), epsilon=0.05, rng=stream, column_name="delay", **more
        ).tolist()

    assert draw() == draw()
    ledger = Ledger(tmp_path / "spent", cap=Privacy(0.07, neighbours="add_remove"))
    draw(ledger=ledger)
    with pytest.raises(dpfast.LedgerError):
        dpfast.mode([1], domain=[1, 2], epsilon=0.05, rng=Stream(), ledger=ledger)


class Again:
    """Chunks that are not in memory as one column."""

    def __iter__(self) -> Any:
        return iter([np.arange(5.0), np.arange(3.0)])


@pytest.mark.parametrize("values", [np.arange(8.0), Again()])
@pytest.mark.parametrize("groups", [{}, {"by": np.arange(8) % 2, "keys": [0, 1]}])
def test_too_many_rows_are_refused_before_anything_is_spent_or_drawn(
    values: Any, groups: dict[str, Any], tmp_path: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    ledger = Ledger(tmp_path / "spent", cap=Privacy(1.0, neighbours="add_remove"))
    asked: dict[str, Any] = {"bounds": (0, 9), "epsilon": 1.0, "rng": rng(), "ledger": ledger, **groups}
    monkeypatch.setattr("dpfast.duff.joint.MOST_ROWS", 8)
    with pytest.raises(ArgumentError, match=r"fewer than 2\*\*31 rows"):
        dpfast.quantiles(values, [0.5], **asked)
    monkeypatch.setattr("dpfast.duff.joint.MOST_ROWS", 9)
    asked["rng"] = rng()
    found = dpfast.quantiles(values, [0.5], **asked)  # the cap is whole
    assert found.tolist() == dpfast.quantiles(values, [0.5], **asked | {"rng": rng(), "ledger": None}).tolist()


@pytest.mark.parametrize(
    ("change", "error"),
    [
        ({"qs": 0.5}, ArgumentTypeError),
        ({"qs": [0.0]}, ArgumentError),
        ({"qs": [1.5]}, ArgumentError),
        ({"method": "fft"}, ArgumentError),
        ({"epsilon": -1.0}, ArgumentError),
        ({"epsilon": float("inf")}, ArgumentError),
        ({"neighbours": "swap"}, ArgumentError),
        ({"bounds": None}, ArgumentTypeError),
        ({"keys": [1]}, ArgumentTypeError),
        ({"rng": np.random}, ArgumentTypeError),
    ],
)
def test_wrong_arguments_are_refused(change: dict[str, Any], error: type[Exception]) -> None:
    arguments: dict[str, Any] = {"qs": [0.5], "bounds": (0, 600), "epsilon": 1.0} | change
    with pytest.raises(error):
        dpfast.quantiles(DELAYS, arguments.pop("qs"), **arguments)


def test_modes() -> None:
    assert dpfast.mode(["b"] * 50 + ["z"] * 99, domain=["a", "b"], epsilon=2.0, rng=rng()) == "b"
    assert dpfast.mode([], domain=["a"], epsilon=0.0, rng=rng()) == "a"
    huge = Domain.range(10**9)
    assert dpfast.mode(np.full(90, 123_456_789), domain=huge, epsilon=1.0, rng=rng()) == 123_456_789
    assert 0 <= dpfast.mode(np.array([5]), domain=huge, epsilon=0.1, rng=rng()) < 10**9
    found = dpfast.mode([1, 2, 2, 7] * 40, domain=[1, 2], epsilon=2.0, by=["x", "y", "y", "y"] * 40, keys=["y", "x"], rng=rng())
    assert found.tolist() == [2, 1]


def test_means() -> None:
    ages = 20.0 + np.arange(10_000) % 61
    for neighbours in ("add_remove", "replace_one"):
        found = dpfast.mean(ages, bounds=(0, 120), epsilon=1.0, neighbours=neighbours, rng=rng())  # type: ignore[arg-type]
        assert abs(found - ages.mean()) < 0.2
    assert 0 <= dpfast.mean([], bounds=(0, 10), epsilon=1.0, rng=rng()) <= 10
    assert 0 <= dpfast.mean([5.0], bounds=(0, 10), epsilon=0.0, rng=rng()) <= 10
    extreme = np.array([2**63 - 1] * 300, np.int64)  # the sum leaves 64 bits
    assert dpfast.mean(extreme, bounds=(0, 2**61), epsilon=8.0, rng=rng()) > 0.9 * 2**61
    by = dpfast.mean(ages, bounds=(0, 120), epsilon=1.0, by=ages > 50, keys=[False, True], rng=rng())
    assert by[0] < 50 < by[1]


def test_piecewise_laplace_by_the_ordinary_call() -> None:
    values = np.random.default_rng(0).normal(50, 5, 5000)
    found = dpfast.median(values, bounds=(0, 100), epsilon=1.0, method="piecewise_laplace", rng=rng())
    assert abs(found - np.median(values)) < 0.5
    by = dpfast.median(values, bounds=(0, 100), epsilon=1.0, method="piecewise_laplace", by=values > 50, keys=[True], rng=rng())
    assert by.shape == (1,)


def test_triangles_of_all_kinds_of_graphs() -> None:
    import scipy.sparse

    edges = np.array([(i, j) for i in range(30) for j in range(i)])
    matrix = scipy.sparse.csr_matrix((np.ones(len(edges)), edges.T), shape=(30, 30))
    for graph in (edges, edges.tolist(), (edges[:, 0], edges[:, 1]), np.concatenate([edges, edges[:, ::-1], [[3, 3]]])):
        assert dpfast.count_triangles(graph, n_vertices=30, epsilon=9.0, rng=rng()) == 4060
    assert dpfast.count_triangles(matrix, epsilon=9.0, rng=rng()) == 4060
    assert 0 <= dpfast.count_triangles(edges, n_vertices=30, epsilon=1.0, method="smooth_cauchy", rng=rng()) <= 4060
    assert dpfast.count_triangles([], n_vertices=2, epsilon=1.0, rng=rng()) == 0
    assert 0 <= dpfast.count_triangles([], n_vertices=4, epsilon=0.0, rng=rng()) <= 4


@pytest.mark.parametrize(
    ("edges", "arguments", "error"),
    [
        ([(0, 1)], {}, ArgumentTypeError),
        ([(0, 9)], {"n_vertices": 5}, OutsideDomainError),
        ([(0.5, 1.0)], {"n_vertices": 5}, ArgumentTypeError),
        ([(0, 1, 2)], {"n_vertices": 5}, ArgumentError),
        ([(0, 1)], {"n_vertices": 5, "method": "node"}, ArgumentError),
        ([(0, 1)], {"n_vertices": 5, "neighbours": "node"}, ArgumentError),
        ([(0, 1)], {"n_vertices": 5, "epsilon": 0.0, "method": "smooth_cauchy"}, ArgumentError),
    ],
)
def test_wrong_graphs_are_refused(edges: Any, arguments: dict[str, Any], error: type[Exception]) -> None:
    with pytest.raises(error):
        dpfast.count_triangles(edges, **({"epsilon": 1.0} | arguments))


def words(*given: int) -> Any:
    left = list(given)
    return lambda: left.pop(0)


def test_choices_among_wide_numbers_are_exact() -> None:
    third, rest = Wide(1.0, 0), Wide(2.0, 0)
    limit = -(-(1 << 64) // 3)  # one third of the words, and a little: the next word settles it
    assert first_is_taken(third, rest, words(limit - 2))
    assert not first_is_taken(third, rest, words(limit))
    assert first_is_taken(third, rest, words(limit - 1, 0))
    assert not first_is_taken(third, rest, words(limit - 1, (1 << 64) - 1))
    tiny = Wide(1.0, -2)  # 2^-1024
    assert not first_is_taken(tiny, third, words(1))
    assert not first_is_taken(tiny, third, words(*[0] * 15, 2))
    assert first_is_taken(tiny, third, words(*[0] * 17))
    assert happens(Wide(0.5, 0), words((1 << 63) - 1))
    assert not happens(Wide(0.5, 0), words(1 << 63))
    assert below(3, words(3 << 62, 1 << 62)) == 1
    assert pick(wide_numbers([Wide(0.0, -(1 << 29)), Wide(1.0, -9), Wide(0.0, -(1 << 29))]), words()) == 1
    power = power_of(0.25, Fraction(1001, 2))
    assert (power.mantissa, power.exponent) == (pytest.approx(2.0**23), -2)


@pytest.mark.parametrize(("neighbours", "exponent"), [("add_remove", 1), ("replace_one", Fraction(1, 2))])
def test_the_mode_draws_with_its_own_factor(neighbours: Any, exponent: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    from dpfast.duff import mode as call
    from dpfast.duff.weights import Weights, decay_of

    seen: list[int] = []

    class Watched(Weights):
        def of(self, distances: Any) -> Any:
            seen.append(self.decay)
            return super().of(distances)

    monkeypatch.setitem(call.__globals__, "Weights", Watched)
    call(["a", "b"], domain=["a", "b"], epsilon=1.0, neighbours=neighbours, rng=rng())
    assert seen == [decay_of(Fraction(exponent))]
