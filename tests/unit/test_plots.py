"""Pictures show the figures they are made of: the artists of the axes are read, not only made."""

from __future__ import annotations

import math
import subprocess
import sys
from pathlib import Path
from typing import Any

import matplotlib.figure
import numpy as np
import pyarrow as pa
import pytest

import dpfast
from dpfast import Policy, RandomisedResponse, duff, graph, plots


def legend(axes: Any) -> list[str]:
    return [text.get_text() for text in axes.get_legend().get_texts()]


def test_a_privacy_error_curve_passes_through_the_policy() -> None:
    policy = Policy(
        {
            "town": RandomisedResponse(range(16), epsilon=1.0),
            "smoker": RandomisedResponse(["no", "yes"], epsilon=2.5, delta=0.01),
            "name": "drop",
        }
    )
    axes = plots.privacy_error(policy, 40_000)
    assert legend(axes) == ["town", "smoker"]
    assert (axes.get_xscale(), axes.get_yscale()) == ("log", "log")
    for plan, line, point in zip(policy.describe(40_000), axes.get_lines(), axes.collections, strict=True):
        x, y = line.get_data()
        assert (np.diff(y) < 0).all()
        ((epsilon, error),) = point.get_offsets()
        assert epsilon == plan.epsilon_realised
        assert error == plan.standard_error
        # the curve is smooth in logarithms: between its points it is met to a thousandth
        assert math.isclose(np.exp(np.interp(np.log(epsilon), np.log(x), np.log(y))), error, rel_tol=1e-3)


def test_a_curve_has_the_error_of_its_column_and_no_other() -> None:
    mechanism = RandomisedResponse(range(5), epsilon=0.7)
    x, y = plots.privacy_error(Policy({"a": mechanism}), 900).get_lines()[0].get_data()
    place = int(np.argmin(abs(x - 0.7)))
    e = math.exp(x[place])
    p = 1 / (e + 4)
    assert math.isclose(y[place], math.sqrt(p * (1 - p) / 900) / ((e - 1) / (e + 4)), rel_tol=1e-9)


def test_a_column_that_says_nothing_has_no_point() -> None:
    axes = plots.privacy_error(Policy({"a": RandomisedResponse(["x", "y"], epsilon=0.0)}), 100)
    assert np.ma.getmaskarray(axes.collections[0].get_offsets()).any() or not np.isfinite(axes.collections[0].get_offsets()).all()


def test_an_estimate_stands_beside_its_raw_shares() -> None:
    mechanism = RandomisedResponse(["no", "yes", None], epsilon=1.0)
    counts = [500, 300, 200]
    found = mechanism.estimate_counts(counts)
    axes = plots.estimate(found, counts)
    estimated, raw = axes.get_lines()[:2]
    assert estimated.get_xdata().tolist() == found.frequency.tolist()
    assert raw.get_xdata().tolist() == [0.5, 0.3, 0.2]
    ends = [segment[:, 0].tolist() for segment in axes.collections[0].get_segments()]
    assert ends == found.interval.tolist()
    assert [label.get_text() for label in axes.get_yticklabels()] == ["no", "yes", "(null)"]
    assert axes.yaxis_inverted()
    assert legend(axes) == ["estimated, with 95 % interval", "sanitised, as it stands"]
    assert len(plots.estimate(found).get_lines()) == 2, "without counts: the estimates, and the line at 0"


def test_of_many_categories_the_largest_are_drawn_in_the_order_of_the_domain() -> None:
    counts = [5, 90, 10, 80, 70]
    found = RandomisedResponse(range(5), epsilon=3.0).estimate_counts(counts)
    axes = plots.estimate(found, counts, most=3)
    assert [label.get_text() for label in axes.get_yticklabels()] == ["1", "3", "4"]
    assert axes.get_lines()[0].get_xdata().tolist() == found.frequency[[1, 3, 4]].tolist()
    assert axes.get_title(loc="left") == "the 3 largest of 5"


def test_a_cross_tabulation_has_a_row_for_each_cell() -> None:
    policy = Policy({"a": RandomisedResponse(["x", "y"], epsilon=3.0), "b": RandomisedResponse([1, 2], epsilon=3.0)})
    table = pa.table({"a": ["x", "y"] * 500, "b": [1, 2] * 500})
    tab = policy.estimate(policy.sanitise(table, rng=dpfast.Stream.insecure(1)), ["a", "b"])
    axes = plots.estimate(tab)
    assert [label.get_text() for label in axes.get_yticklabels()] == ["x, 1", "x, 2", "y, 1", "y, 2"]
    together = RandomisedResponse(dpfast.Domain.product(["x", "y"], [1, 2]), epsilon=2.0).estimate_counts([4, 3, 2, 1])
    assert [label.get_text() for label in plots.estimate(together).get_yticklabels()] == ["x, 1", "x, 2", "y, 1", "y, 2"]
    assert axes.get_lines()[0].get_xdata().tolist() == tab.frequency.ravel().tolist()


def test_values_are_text_whatever_they_hold() -> None:
    axes = plots.estimate(RandomisedResponse(["$x^$", "_y", "<b>", "\x1b[1m"], epsilon=1.0).estimate_counts([1, 2, 3, 4]))
    text = plots.svg(axes)
    assert "$x^$" in text
    assert "&lt;b&gt;" in text
    assert "<b>" not in text
    assert "\x1b" not in text
    assert legend(plots.privacy_error(Policy({"_$a": RandomisedResponse([1, 2], epsilon=1.0)}), 9)) == [" _$a"]


def density(levels: duff.Levels, epsilon: float) -> Any:
    return plots.levels(levels, epsilon=epsilon).patches[0].get_data()


def test_levels_are_drawn_with_their_density() -> None:
    levels = duff.Levels([1, 0, 1], [0, 4, 5], [3, 4, 9], step=0.5, origin=2)
    data = density(levels, 2.0)
    assert data.edges.tolist() == [0.75, 2.75, 3.25, 5.75]
    mass = data.values * np.diff(data.edges)
    assert np.allclose(mass, np.exp(duff.log_probabilities(levels, epsilon=2.0)), rtol=1e-12)
    assert np.argmax(data.values) == 1


def test_between_levels_there_is_nothing() -> None:
    data = density(duff.Levels([0, 1], [0, 10], [4, 14], step=1), 1.0)
    assert data.edges.tolist() == [-0.5, 4.5, 9.5, 14.5]
    assert data.values[1] == 0.0
    assert math.isclose((data.values * np.diff(data.edges)).sum(), 1.0, rel_tol=1e-12)


def test_many_levels_are_joined_and_lose_no_mass() -> None:
    levels = duff.median_levels(np.arange(10_001), bounds=(0, 20_000), step=1, neighbours="add_remove")
    data = density(levels, 0.01)
    assert 1000 <= data.values.size <= 2000
    assert math.isclose((data.values * np.diff(data.edges)).sum(), 1.0, rel_tol=1e-9)
    assert abs(data.edges[np.argmax(data.values)] - 5000) < 30


def test_levels_that_doubles_cannot_tell_apart_are_refused() -> None:
    with pytest.raises(ValueError, match="doubles lie further apart"):
        plots.levels(duff.Levels([0, 1], [0, 1], [0, 1], step=1, origin=1 << 60), epsilon=1.0)


def test_the_view_holds_the_mass_asked_for_and_cuts_nothing() -> None:
    levels = duff.median_levels(np.arange(1001), bounds=(0, 10**6), step=1, neighbours="add_remove")
    wide, narrow = plots.levels(levels, epsilon=1.0, mass=0.99), plots.levels(levels, epsilon=1.0, mass=0.5)
    (low, high), (inner_low, inner_high) = wide.get_xlim(), narrow.get_xlim()
    assert low < inner_low < 500 < inner_high < high < 600
    assert narrow.patches[0].get_data().edges[-1] == 10**6 + 0.5


def test_baselines_are_drawn_as_densities_and_as_answers() -> None:
    levels = duff.median_levels(np.arange(101), bounds=(0, 100), step=1, neighbours="add_remove")
    answers = np.full(200, 50.2)
    axes = plots.levels(levels, epsilon=1.0, baselines={"triangle": lambda x: np.maximum(0, 1 - abs(x - 50)), "draws": answers})
    assert legend(axes) == ["Duff", "triangle", "draws"]
    x, y = axes.get_lines()[0].get_data()
    assert np.array_equal(y, np.maximum(0, 1 - abs(x - 50)))
    drawn = axes.patches[1].get_data()
    assert math.isclose((drawn.values * np.diff(drawn.edges)).sum(), 1.0)
    assert drawn.edges[np.argmax(drawn.values)] <= 50.2 <= drawn.edges[np.argmax(drawn.values) + 1]


TABLE = pa.table(
    {
        "dataset": ["d"] * 5 + ["e"],
        "mechanism": ["duff", "duff", "ptr", "ptr", "smooth/oracle", "duff"],
        "epsilon": [1.0, 0.5, 0.5, 1.0, 1.0, 1.0],
        "private": [True, True, True, True, False, True],
        "error_median": [2.0, 4.0, None, 7.0, 1.0, 99.0],
        "rank_error": [20.0, 40.0, None, 70.0, 10.0, 99.0],
    }
)


def test_errors_stand_against_epsilon_in_its_order() -> None:
    axes = plots.errors(TABLE, dataset="d")
    one, two, three = axes.get_lines()
    assert one.get_xdata().tolist() == [0.5, 1.0]
    assert one.get_ydata().tolist() == [4.0, 2.0]
    assert math.isnan(two.get_ydata()[0])
    assert two.get_ydata()[1] == 7.0
    assert [line.get_linestyle() for line in (one, two, three)] == ["-", "-", "--"]
    assert legend(axes) == ["duff", "ptr", "smooth/oracle"]
    rows = [{"dataset": "d", "mechanism": str(i), "epsilon": 1.0, "error_median": float(i > 0)} for i in range(13)]
    lines = plots.errors(pa.Table.from_pylist(rows)).get_lines()
    assert len({(line.get_color(), line.get_marker()) for line in lines}) == 13
    assert [math.isnan(line.get_ydata()[0]) for line in lines] == [True] + [False] * 12
    assert plots.errors(TABLE, dataset="d", error="rank_error").get_lines()[0].get_ydata().tolist() == [40.0, 20.0]


def test_a_table_of_several_data_sets_needs_a_name() -> None:
    with pytest.raises(ValueError, match="dataset="):
        plots.errors(TABLE)
    with pytest.raises(ValueError, match="'f'"):
        plots.errors(TABLE, dataset="f")
    with pytest.raises(TypeError, match="'error_q95'"):
        plots.errors(TABLE, dataset="d", error="error_q95")
    with pytest.raises(TypeError, match=r"baselines\.compare"):
        plots.errors([1, 2])


def path_graph() -> tuple[graph.DatasetGraph, graph.Extension]:
    g = graph.DatasetGraph(["b", "a", "c"], ["a", "c", "d"], 0.5)
    query = {"a": 1, "b": 1, "c": 2, "d": 2}
    return g, graph.extend(g, query, graph.optimal_boundary(g, query))


def test_an_extension_is_drawn_vertex_by_vertex() -> None:
    g, extension = path_graph()
    axes = plots.extension(g, extension)
    edges, points = axes.collections
    assert points.get_array().tolist() == extension.probability.tolist()
    assert points.get_clim() == (0.0, 1.0)
    at = {label: tuple(place) for label, place in zip(g.labels, points.get_offsets().tolist(), strict=True)}
    assert {label: place[0] for label, place in at.items()} == {"a": 0.5, "b": 1.5, "c": -0.5, "d": -1.5}
    drawn = {frozenset(map(tuple, segment.tolist())) for segment in edges.get_segments()}
    assert drawn == {frozenset((at[u], at[v])) for u, v in [("b", "a"), ("a", "c"), ("c", "d")]}
    rims = dict(zip(g.labels, points.get_linewidths(), strict=True))
    assert rims["a"] == rims["c"] > rims["b"] == rims["d"]
    assert sorted(text.get_text() for text in axes.texts) == ["a", "b", "c", "d"]


def test_positions_are_those_given() -> None:
    g, extension = path_graph()
    by_label = {label: (number, -number) for number, label in enumerate(g.labels)}
    for positions in (by_label, [by_label[label] for label in g.labels]):
        assert plots.extension(g, extension, positions).collections[1].get_offsets()[:, 0].tolist() == [0, 1, 2, 3]
    with pytest.raises(ValueError, match="lacks 1"):
        plots.extension(g, extension, {label: (0, 0) for label in "abc"})
    with pytest.raises(ValueError, match="two finite numbers"):
        plots.extension(g, extension, [[0, 0], [1, math.nan], [0, 0], [0, 0]])


def test_bounds_of_a_graph_can_be_drawn_and_vertices_without_a_way_stand_outside() -> None:
    g = graph.DatasetGraph([0, 2], [1, 3], 1.0)
    axes = plots.extension(g, graph.upper(g, {0: 0.1}))
    assert axes.collections[1].get_array().tolist() == graph.upper(g, {0: 0.1}).probability.tolist()
    assert axes.collections[1].get_offsets()[:, 0].tolist()[2:] == [0.5, 0.5]


def test_what_cannot_be_drawn_is_refused() -> None:
    g, extension = path_graph()
    other = graph.DatasetGraph([0], [1], 1.0)
    with pytest.raises(ValueError, match="another graph"):
        plots.extension(other, extension)
    big = graph.DatasetGraph(np.arange(2001), np.arange(1, 2002), 1.0)
    with pytest.raises(ValueError, match="2000"):
        plots.extension(big, graph.upper(big, {0: 0.5}))
    for call in (
        lambda: plots.extension(g, extension.probability),
        lambda: plots.privacy_error({"a": 1}, 10),
        lambda: plots.estimate([0.5, 0.5]),
        lambda: plots.levels([0, 1], epsilon=1.0),
        lambda: plots.privacy_error(Policy({"a": RandomisedResponse([1, 2], epsilon=1.0)}), 10, ax="axes"),
        lambda: plots.svg("picture"),
    ):
        with pytest.raises(dpfast.ArgumentTypeError):
            call()
    found = RandomisedResponse([1, 2], epsilon=1.0).estimate_counts([3, 4])
    for counts in ([1], [1, -1], [1, math.nan]):
        with pytest.raises(dpfast.ArgumentError, match="counts"):
            plots.estimate(found, counts)
    levels = duff.Levels([0], [0], [9], step=1)
    for more in ({"mass": 0.0}, {"mass": 1.0}, {"baselines": {"x": []}}, {"baselines": {"x": [math.nan]}}):
        with pytest.raises(dpfast.ArgumentError):
            plots.levels(levels, epsilon=1.0, **more)  # type: ignore[arg-type]


def test_axes_that_are_given_are_drawn_into() -> None:
    axes = matplotlib.figure.Figure().add_subplot()
    found = RandomisedResponse([1, 2], epsilon=1.0).estimate_counts([3, 4])
    assert plots.estimate(found, ax=axes) is axes
    assert len(axes.get_lines()) == 2


def test_a_drawing_is_one_text_in_every_process(tmp_path: Path) -> None:
    axes = plots.privacy_error(Policy({"a": RandomisedResponse(["x", "y"], epsilon=1.0)}), 100)
    text = plots.svg(axes, tmp_path / "one.svg")
    assert (tmp_path / "one.svg").read_text() == text == plots.svg(axes)
    code = (
        "from dpfast import plots, Policy, RandomisedResponse\n"
        "plots.svg(plots.privacy_error(Policy({'a': RandomisedResponse(['x', 'y'], epsilon=1.0)}), 100), 'two.svg')"
    )
    subprocess.run([sys.executable, "-c", code], cwd=tmp_path, check=True)
    assert text == (tmp_path / "two.svg").read_text()
    assert text.startswith("<svg")
    assert text.rstrip().endswith("</svg>")
    for absent in ("<metadata", "<!DOCTYPE", "dc:date", "<script", "@import"):
        assert absent not in text


def test_a_missing_matplotlib_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(dpfast.MissingPackageError, match=r"dpfast\[plot\]"):
        plots.privacy_error(Policy({"a": RandomisedResponse([1, 2], epsilon=1.0)}), 10)


def test_pictures_leave_pyplot_alone() -> None:
    code = (
        "import sys; from dpfast import plots, Policy, RandomisedResponse; assert 'matplotlib' not in sys.modules\n"
        "plots.privacy_error(Policy({'a': RandomisedResponse(['x', 'y'], epsilon=1.0)}), 100)\n"
        "assert 'matplotlib' in sys.modules and 'matplotlib.pyplot' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
