"""Cross-tabulations: margins, axes, methods, tables that come out, arguments."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from dpfast.channel import MatrixChannel, SymmetricChannel
from dpfast.crosstab import CrossTab, crosstab
from dpfast.errors import ArgumentError, ArgumentTypeError
from dpfast.estimate import EstimateWarning, estimate_counts
from dpfast.privacy import response_threshold

A = SymmetricChannel(3, response_threshold(3, 1.0))
B = MatrixChannel([[0.8, 0.2], [0.3, 0.7]])
COUNTS = np.array([[300, 150], [180, 200], [160, 180]])


def tab(**changes: Any) -> CrossTab:
    return crosstab(COUNTS, [A, B], values=[["x", "y", None], [1, 2]], names=["letter", "number"], **changes)


@pytest.mark.parametrize("population", [True, False])
def test_margins_are_the_estimates_of_the_columns(population: bool) -> None:
    found = tab(population=population)
    for axis, (name, channel) in enumerate((("letter", A), ("number", B))):
        alone = estimate_counts(COUNTS.sum(axis=1 - axis), channel, values=range(channel.k), population=population)
        margin = found.margins[name]
        assert margin.frequency.tolist() == alone.frequency.tolist()
        assert margin.standard_error.tolist() == alone.standard_error.tolist()
        assert margin.interval.tolist() == alone.interval.tolist()
        np.testing.assert_allclose(found.frequency.sum(axis=1 - axis), alone.frequency, atol=1e-13)
    assert found.frequency.sum() == pytest.approx(1, abs=1e-12)
    assert found.margins["letter"].values == ("x", "y", None)


@pytest.mark.parametrize("population", [True, False])
@pytest.mark.parametrize("method", ["inverse", "em"])
def test_a_table_is_one_column_of_the_product_written_down(population: bool, method: str) -> None:
    found = tab(population=population, method=method)
    product = MatrixChannel(np.kron(A.matrix, B.matrix))
    alone = estimate_counts(COUNTS.ravel(), product, values=range(6), population=population, method=method)
    np.testing.assert_allclose(found.frequency.ravel(), alone.frequency, atol=1e-7 if method == "em" else 1e-13)
    np.testing.assert_allclose(found.standard_error.ravel(), alone.standard_error, rtol=1e-10)
    np.testing.assert_allclose(found.interval.reshape(6, 2), alone.interval, atol=1e-12)
    assert (alone.interval[:, 0] > 0).sum() >= 3
    assert found.condition == pytest.approx(alone.condition)


def test_the_order_of_columns_does_not_matter() -> None:
    found, turned = tab(), crosstab(COUNTS.T, [B, A])
    for name in ("frequency", "standard_error"):
        np.testing.assert_allclose(getattr(found, name), getattr(turned, name).T, atol=1e-14)
    np.testing.assert_allclose(found.interval, turned.interval.swapaxes(0, 1), atol=1e-13)


def test_one_column_is_its_estimate() -> None:
    found = crosstab(COUNTS[:, 0], [A])
    alone = estimate_counts(COUNTS[:, 0], A, values=range(3))
    assert found.frequency.tolist() == alone.frequency.tolist()
    assert found.interval.tolist() == alone.interval.tolist()


def test_a_column_of_one_category_changes_nothing() -> None:
    found = crosstab(COUNTS[:, :, None], [A, B, SymmetricChannel(1, 0)])
    np.testing.assert_allclose(found.frequency[:, :, 0], tab().frequency, atol=1e-15)
    np.testing.assert_allclose(found.standard_error[:, :, 0], tab().standard_error, rtol=1e-12)


@pytest.mark.parametrize("method", ["mle", "em"])
def test_maxima_of_a_table(method: str) -> None:
    found = tab(method=method)
    assert found.frequency.min() >= 0
    assert found.frequency.sum() == pytest.approx(1, abs=1e-12)
    if tab().frequency.min() >= 0:
        np.testing.assert_allclose(found.frequency, tab().frequency, atol=1e-6)
    lopsided = crosstab([[90, 1], [1, 1]], [B, B], method=method)
    assert lopsided.frequency.min() == pytest.approx(0, abs=1e-9)
    assert np.isnan(lopsided.standard_error).all()


def test_simultaneous_intervals_of_cells_are_wider() -> None:
    alone, together = tab(), tab(simultaneous=True)
    assert (together.interval[..., 0] <= alone.interval[..., 0]).all()
    assert (together.interval[..., 1] > alone.interval[..., 1]).all()
    np.testing.assert_allclose(together.interval, tab(confidence=1 - 0.05 / 6).interval, atol=1e-12)


def test_nothing_to_estimate_in_a_table() -> None:
    uniform = SymmetricChannel(2, 2**63, uniform=True)
    with pytest.warns(EstimateWarning, match="nothing can be estimated") as caught:
        found = crosstab(COUNTS, [A, uniform])
    assert len(caught) == 1
    assert caught[0].filename == __file__
    assert np.isnan(found.frequency).all()
    assert found.interval.reshape(-1, 2).tolist() == [[0, 1]] * 6
    # The other column can still be estimated on its own.
    assert np.isfinite(found.margins["column_1"].frequency).all()
    with pytest.warns(EstimateWarning):
        assert np.isnan(crosstab(np.zeros((3, 2), int), [A, B]).frequency).all()


def test_a_table_prints_and_leaves_as_tables() -> None:
    found = tab()
    lines = repr(found).splitlines()
    assert lines[0].split() == ["letter", "number", "frequency", "error", "95", "%", "interval"]
    assert [line.split()[:2] for line in lines[5:7]] == [["(null)", "1"], ["(null)", "2"]]
    table = found.to_arrow()
    assert table.column_names == ["letter", "number", "frequency", "count", "standard_error", "lower", "upper"]
    assert table["letter"].to_pylist() == ["x", "x", "y", "y", None, None]
    assert table["number"].to_pylist() == [1, 2] * 3
    assert table["frequency"].to_pylist() == found.frequency.ravel().tolist()
    assert table["upper"].to_pylist() == found.interval[..., 1].ravel().tolist()
    assert found.to_pandas().shape == (6, 7)
    with pytest.raises(ArgumentTypeError, match="two columns named 'count'"):
        crosstab(COUNTS, [A, B], names=["count", "b"]).to_arrow()
    with pytest.raises(ValueError, match="read-only"):
        found.frequency[0, 0] = 1


@pytest.mark.parametrize(
    ("changes", "error"),
    [
        ({"counts": COUNTS.T}, ArgumentError),
        ({"counts": COUNTS[0]}, ArgumentError),
        ({"channels": []}, ArgumentError),
        ({"counts": -COUNTS}, ArgumentError),
        ({"counts": COUNTS / 2}, ArgumentTypeError),
        ({"names": ["a"]}, ArgumentTypeError),
        ({"names": ["a", "a"]}, ArgumentTypeError),
        ({"names": ["a", 1]}, ArgumentTypeError),
        ({"values": [range(3), range(3)]}, ArgumentError),
        ({"method": "guess"}, ArgumentError),
        ({"confidence": 1}, ArgumentError),
    ],
    ids=str,
)
def test_wrong_tables_are_refused(changes: dict[str, Any], error: type[Exception]) -> None:
    with pytest.raises(error):
        crosstab(**({"counts": COUNTS, "channels": [A, B]} | changes))


def test_a_table_has_a_largest_size() -> None:
    wide = SymmetricChannel(4000, response_threshold(4000, 5.0))
    with pytest.raises(ArgumentError, match="10,000,000 cells"):
        crosstab(np.zeros((4000, 4000), np.int8), [wide, wide])
