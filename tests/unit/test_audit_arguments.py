"""What `audit` takes and refuses, how outputs become cells, and what reports say; laws are in tests/exact and statistical."""

from __future__ import annotations

import json
import math
import pickle
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from dpfast import Domain, ExponentialResponse, MatrixResponse, Policy, RandomisedResponse, Stratified, Stream, optimal_response
from dpfast.audit import audit
from dpfast.audit._bounds import epsilon_below, proved_shares
from dpfast.audit._events import Codes, Labels, Numbers, choose
from dpfast.audit._learnt import learn
from dpfast.audit._samples import Counted, sampled_report
from dpfast.audit._sources import MOST_CATEGORIES, PIECE, mechanism_counts, normal
from dpfast.errors import ArgumentError, ArgumentTypeError

RESPONSE = RandomisedResponse(["a", "b", "c"], epsilon=1.0)
STRATA = Stratified("age", {"minor": RandomisedResponse([0, 1], epsilon=0.5)}, default=RandomisedResponse([0, 1], epsilon=2.0))
POLICY = Policy(
    {"smoker": STRATA, "age": "public", "town": RESPONSE, "name": "drop"},
    joint={("x", "y"): RandomisedResponse(Domain.product([0, 1], ["u", "v"]), epsilon=3.0)},
    rows_per_person=2,
)


def coin(dataset: Any, size: int) -> Any:
    return np.arange(size) % 2


@pytest.mark.parametrize(
    ("mechanism", "options", "error", "text"),
    [
        (RESPONSE, {"method": "guess"}, ArgumentError, "method must be one of"),
        (RESPONSE, {"samples": 1000, "method": "exact"}, ArgumentError, 'samples is for method="samples"'),
        (RESPONSE, {"method": "samples"}, ArgumentTypeError, "samples is missing"),
        (RESPONSE, {"method": "samples", "samples": 99}, ArgumentError, "at least 100"),
        (RESPONSE, {"method": "samples", "samples": 1 << 41}, ArgumentError, "at most 2"),
        (RESPONSE, {"method": "samples", "samples": 1e6}, ArgumentTypeError, "must be an integer"),
        (RESPONSE, {"vectorised": True}, ArgumentTypeError, "vectorised is for functions"),
        (RESPONSE, {"rng": 7}, ArgumentTypeError, "rng must be None or a dpfast.Stream"),
        (RESPONSE, {"threads": 0}, ArgumentError, "threads must be at least 1"),
        (RESPONSE, {"confidence": 1.0}, ArgumentError, "confidence must lie between"),
        (RESPONSE, {"confidence": math.nan}, ArgumentError, "confidence must lie between"),
        (RESPONSE, {"confidence": True}, ArgumentTypeError, "confidence must be a number"),
        (RESPONSE, {"epsilon": -1.0}, ArgumentError, "epsilon"),
        (RESPONSE, {"delta": 1.0}, ArgumentError, "delta"),
        (RESPONSE, {"pairs": [(0, 3)]}, ArgumentError, "0 to 2"),
        (RESPONSE, {"pairs": [(1, 1)]}, ArgumentError, "must differ"),
        (RESPONSE, {"pairs": [("a", "b")]}, ArgumentTypeError, "must be an integer"),
        (RESPONSE, {"pairs": []}, ArgumentError, "pairs is empty"),
        (RESPONSE, {"pairs": [(0, 1, 2)]}, ArgumentTypeError, "must be two datasets"),
        (RESPONSE, {"pairs": np.eye(2)}, ArgumentTypeError, "must be a list of pairs"),
        (STRATA, {"pairs": [(0, 1)]}, ArgumentTypeError, "pairs are for one mechanism"),
        (POLICY, {"pairs": [(0, 1)]}, ArgumentTypeError, "pairs are for one mechanism"),
        (RandomisedResponse([0], epsilon=1.0), {"method": "samples", "samples": 100}, ArgumentError, "no neighbours"),
        (coin, {"pairs": [(0, 1)], "samples": 100}, ArgumentTypeError, "epsilon is missing"),
        (coin, {"epsilon": 1.0, "samples": 100}, ArgumentTypeError, "pairs must be a list"),
        (coin, {"epsilon": 1.0, "pairs": [(0, 1)]}, ArgumentTypeError, "samples is missing"),
        (coin, {"epsilon": 1.0, "pairs": [(0, 1)], "samples": 100, "method": "exact"}, ArgumentError, "not known"),
        (coin, {"epsilon": 1.0, "pairs": [(0, 1)], "samples": 100, "threads": 1}, ArgumentTypeError, "own randomness"),
        (7, {"epsilon": 1.0}, ArgumentTypeError, "not int"),
    ],
)
def test_wrong_arguments_are_refused(mechanism: Any, options: dict[str, Any], error: type[Exception], text: str) -> None:
    with pytest.raises(error, match=text):
        audit(mechanism, **options)


@pytest.mark.parametrize(
    ("function", "error", "text"),
    [
        (lambda dataset, size: np.zeros(size - 1), ArgumentError, "one output, or one row, for each"),
        (lambda dataset, size: np.zeros((size, 2, 2)), ArgumentError, "one output, or one row, for each"),
        (lambda dataset, size: 0.5, ArgumentError, "one output, or one row, for each"),
        (lambda dataset, size: [{}] * size, ArgumentTypeError, "an output of type dict"),
        (lambda dataset, size: [object()] * size, ArgumentTypeError, "an output of type object equals none but itself"),
    ],
)
def test_outputs_that_cannot_be_counted_are_refused(function: Any, error: type[Exception], text: str) -> None:
    with pytest.raises(error, match=text):
        audit(function, [(0, 1)], epsilon=1.0, samples=100, vectorised=True)


def test_the_claim_is_that_of_the_mechanism_unless_told() -> None:
    mechanism = RandomisedResponse(range(4), epsilon=1.0, delta=0.125)
    claims = [{}, {"delta": 0.25}, {"epsilon": 2.0}, {"epsilon": 2.0, "delta": 0.5}]
    found = [(report.epsilon, report.delta) for report in (audit(mechanism, **claim) for claim in claims)]
    assert found == [(1.0, 0.125), (mechanism.epsilon_at(0.25), 0.25), (2.0, 0.0), (2.0, 0.5)]
    matrix = MatrixResponse(range(2), [[0.75, 0.25], [0.25, 0.75]])
    assert audit(matrix).epsilon == matrix.epsilon_at()


def test_every_kind_of_mechanism_has_a_table() -> None:
    for mechanism in (
        optimal_response(range(3), loss="ordinal", epsilon=1.0),
        ExponentialResponse(range(3), distance="hamming", epsilon=1.0),
    ):
        assert audit(mechanism).verdict == "proved"
        assert not audit(mechanism, method="samples", samples=10_000, rng=Stream.insecure(1), confidence=0.9999).rejected


def test_given_pairs_prove_nothing_about_others() -> None:
    report = audit(RESPONSE, [(0, 1)])
    assert [found.pair for found in report.findings] == [(0, 1), (1, 0)]
    assert (report.epsilon_upper, report.delta_upper, report.verdict) == (math.inf, 1.0, "not refuted")
    assert report.findings[0].epsilon_upper == 1.0
    far = ExponentialResponse(range(5), distance="ordinal", epsilon=1.0)
    assert audit(far, [(0, 1)]).epsilon_lower < audit(far).epsilon_lower == audit(far, [(0, 4)]).epsilon_lower


def test_any_number_of_categories_is_audited_exactly() -> None:
    mechanism = RandomisedResponse(Domain.range(2**31, unknown="randomise"), epsilon=2.0)
    report = audit(mechanism)
    assert report.verdict == "proved"
    assert report.event is not None
    assert report.event.contains([0, 5, 2**31 - 1]).sum() == 1
    away = audit(mechanism, [(2**31, 7)]).findings[0].event
    assert away.text.endswith("more")
    assert away.contains([0, 7, 8]).tolist() == [True, False, True]
    with pytest.raises(ArgumentError, match="are not counted"):
        audit(mechanism, method="samples", samples=100)


def test_a_policy_is_audited_rule_by_rule_and_as_a_row() -> None:
    report = audit(POLICY)
    assert [label for label, _ in report.parts] == ["smoker", "town", "x, y"]
    strata = report.parts[0][1]
    assert [(label, part.epsilon) for label, part in strata.parts] == [("age is 'minor'", 0.5), ("age is another value", 2.0)]
    assert (strata.epsilon, strata.epsilon_upper, strata.verdict) == (2.0, 2.0, "proved")
    assert report.verdict == "proved"
    assert (report.epsilon, report.epsilon_upper) == (12.0, 12.0)
    assert 12.0 - 1e-14 < report.epsilon_lower < 12.0
    assert (report.pair, report.event) == (None, None)
    short = audit(POLICY, epsilon=11.999)
    assert short.rejected
    assert not any(part.rejected for _, part in short.parts)
    assert "refuted" in str(short)


def test_a_policy_at_delta_is_composed() -> None:
    policy = Policy({name: RandomisedResponse(range(3), epsilon=0.5) for name in "abcd"}, rows_per_person=5)
    report = audit(policy, delta=1e-6)
    assert report.verdict == "proved"
    assert report.epsilon - 1e-8 < report.epsilon_lower <= report.epsilon < 10.0
    assert audit(policy, delta=1e-6, epsilon=report.epsilon - 1e-6).rejected
    strata = Policy({"smoker": STRATA, "age": "public", "a": policy.columns["a"]})
    report = audit(strata, delta=1e-3)
    assert 0.99 * report.epsilon < report.epsilon_lower <= report.epsilon < 2.5
    # rules that were made for a delta, and a claim without
    loose = Policy({name: RandomisedResponse(range(3), epsilon=0.5, delta=0.1) for name in "ab"})
    report = audit(loose, delta=0.0)
    assert report.epsilon * (1 - 1e-12) < report.epsilon_lower <= report.epsilon


def test_a_rule_that_lies_refutes_the_policy() -> None:
    liar = RandomisedResponse(range(3), epsilon=1.0)
    liar.epsilon = 0.9
    report = audit(Policy({"a": liar, "b": RESPONSE}))
    assert report.rejected
    assert [part.rejected for _, part in report.parts] == [True, False]
    assert audit(Stratified("by", {1: liar, 2: RandomisedResponse(range(3), epsilon=2.0)})).rejected
    public = audit(Policy({"a": "public"}))
    assert (public.epsilon_upper, public.verdict, public.parts) == (0.0, "proved", ())


def test_strata_of_other_deltas() -> None:
    loose, strict = RandomisedResponse(range(3), epsilon=1.0, delta=0.1), RandomisedResponse(range(3), epsilon=3.0)
    report = audit(Stratified("by", {1: loose, 2: strict}))
    true = max(loose.epsilon_at(0.1), strict.epsilon_at(0.1))
    assert (report.delta, report.epsilon, report.verdict) == (0.1, true, "proved")
    assert math.nextafter(report.epsilon_lower, math.inf) == true == report.epsilon_upper
    assert report.delta_lower <= max(loose.delta_at(true), strict.delta_at(true)) <= report.delta_upper
    assert [part.epsilon for _, part in report.parts] == [1.0, 3.0]
    sampled = audit(Stratified("by", {1: loose, 2: strict}), method="samples", samples=50_000, rng=Stream.insecure(1))
    assert 0.9 < sampled.epsilon_lower <= loose.epsilon_at(0.1)  # the strict one is put to its own claim, at delta 0


def test_samples_of_a_policy_share_the_error() -> None:
    report = audit(POLICY, method="samples", samples=20_000, rng=Stream.insecure(2), confidence=0.97)
    assert not report.rejected
    assert [round(part.confidence, 12) for _, part in report.parts] == [0.99] * 3
    assert [round(part.confidence, 12) for _, part in report.parts[0][1].parts] == [0.995] * 2
    parts = [part.epsilon_lower for _, part in report.parts]
    assert report.epsilon_lower == pytest.approx(2 * sum(parts), rel=1e-12)
    assert report.epsilon_lower <= 2 * sum(map(Fraction, parts)) < 12.0
    assert audit(POLICY, method="samples", samples=20_000, epsilon=9.0, rng=Stream.insecure(2)).rejected


def test_the_bounds_of_all_pairs_share_the_error() -> None:
    # three pairs, both directions, two events, both ends: each bound has a twenty-fourth of the error
    one, other = Counted(np.array([600, 400]), np.array([590, 410])), Counted(np.array([300, 700]), np.array([310, 690]))
    given = [((place, "other"), Codes(2), one, other) for place in range(3)]
    report = sampled_report(given, epsilon=0.1, delta=0.0, samples=2000, miss=0.01)
    bounds = [proved_shares(hits, (1000, 1000), 0.01 / 24) for hits in ((590, 310), (690, 410))]
    assert [found.epsilon_lower for found in report.findings] == [epsilon_below(bound, 0.0) for bound in bounds] * 3
    assert (report.epsilon_lower, report.rejected, report.confidence) == (epsilon_below(bounds[0], 0.0), True, 0.99)


def test_a_seed_repeats_an_audit_and_threads_do_not_matter() -> None:
    def run(threads: int) -> Any:
        report = audit(
            RESPONSE, pairs=[(0, 1), (1, 2)], method="samples", samples=5_000_000, rng=Stream.insecure(4), threads=threads
        )
        return [(found.pair, found.epsilon_lower, repr(found.event)) for found in report.findings]

    assert run(1) == run(2)
    assert [found[0] for found in run(1)] == [(0, 1), (1, 0), (1, 2), (2, 1)]


@pytest.mark.parametrize("k", [3, 255, 256, 70_000])
def test_counts_are_those_of_sanitised_rows(k: int) -> None:
    mechanism = RandomisedResponse(Domain.range(k, unknown="randomise"), epsilon=40.0)
    options: dict[str, Any] = {"stream": Stream.insecure(1), "threads": 1}
    assert mechanism_counts(mechanism, k - 1, 200_000, **options)[k - 1] == 200_000
    spread = mechanism_counts(mechanism, k, 200_000, **options)
    assert (spread.size, spread.sum()) == (k, 200_000)
    assert spread.max() < 100_000
    with pytest.raises(ArgumentError, match="audit the mechanism exactly"):
        mechanism_counts(RandomisedResponse(range(MOST_CATEGORIES + 1), epsilon=1.0), 0, 100, **options)


def test_outputs_take_one_of_two_forms() -> None:
    assert normal([True, 2, np.int8(3), None, math.nan, Fraction(1, 2)]) == [1, 2, 3, None, "NaN", 0.5]
    assert normal(np.array(["2026-01-01", "NaT"], "M8[D]")).tolist() == [20454, np.iinfo(np.int64).min]
    assert normal(np.array([True, False])).dtype == np.int64
    assert normal(np.array([[1.0, math.nan], [2.0, 3.0]])) == [(1.0, "NaN"), (2.0, 3.0)]
    assert normal(["a", None, (1, [2, math.nan]), np.float64(0.5)]) == ["a", None, (1, (2, "NaN")), 0.5]
    assert normal(np.array(["a", "b"])) == ["a", "b"]


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ([1.0, None, 2.0, None], [2.0, 3.0, None, 1.0]),
        (["a", None, 1.0, 1.0], [None, 1.0, 2.0, math.nan]),
        ([2**60, 2**60 + 1, 2**60 + 3, 0], [2**60 + 2, 2**60, 2**60, 1]),
        ([2**60, None, 0.5, 2**60 + 1], [2**60 + 1, 1.0, "a", 3]),
        (np.array([2**63, 2**63 + 1], np.uint64), np.array([2**63 + 2], np.uint64)),
        ([(0.1 * i, 0.2 * i) for i in range(9)], [(0.1 * i, None) for i in range(9)]),
    ],
)
def test_the_cell_of_an_output_does_not_depend_on_others(first: Any, second: Any) -> None:
    beside = [1, 2**60 + 1, 2**63 + 1, 10**400, 0.5, math.nan, None, "a", math.inf, (0.1, 0.2), (0.1, None), (0.1,), True]
    cells = learn(normal(first), normal(second))
    together = cells.find(normal(beside)).tolist()
    assert together == [int(cells.find(normal([one]))[0]) for one in beside]
    numbers = [1, 2**60 + 1, 2**62]
    for dtype in (np.int64, np.uint64):
        assert cells.find(normal(np.array(numbers, dtype))).tolist() == cells.find(normal(numbers)).tolist()


def test_large_integers_are_told_apart() -> None:
    cells = learn(normal([2**60, 2**60 + 1]), normal([2**60 + 1]))
    assert cells.find(normal([2**60, 2**60 + 1, None, 2.0**60, math.inf])).tolist() == [1, 3, 5, 1, 4]
    assert cells.find(np.array([2.0**60, math.nan])).tolist() == [1, 5]


def test_vectors_that_never_come_twice_are_put_on_a_line() -> None:
    rng = np.random.default_rng(3)
    first, second = rng.random((500, 3)), rng.random((500, 3)) + np.array([0, 0.9, 0])
    cells = learn(normal(first), normal(second))
    assert cells.is_ordered
    found = [cells.find(normal(each)) for each in (first, second)]
    assert np.median(found[1]) < np.median(found[0])  # the score is large where the first dataset is more likely
    odd = cells.find(normal([(0.5, 0.5, 0.5), (0.5, 0.5), "text", (0.5, "x", 0.5)])).tolist()
    assert odd[0] < cells.size - 1
    assert odd[1:] == [cells.size - 1] * 3
    assert "any vector of 3 parts with a score of" in cells.describe(np.arange(3))
    # what comes often enough is a label, and most that are numbers make a line
    assert isinstance(learn(normal(first.round()), normal(second.round())), Labels)
    assert isinstance(learn(["a", *first[:, 0].tolist()], second[:, 0]), Numbers)


def test_numbers_are_cut_at_edges_that_are_cells() -> None:
    cells = Numbers(np.array([1.0, 2.0]))
    outputs = np.array([-math.inf, 1.0, 1.5, 2.0, math.inf, math.nan])
    assert cells.find(outputs).tolist() == [0, 1, 2, 3, 4, 5]
    assert cells.find(["text", 1]).tolist() == [5, 1]
    assert cells.find(["text", 10**400, -(10**400), None]).tolist() == [5, 4, 0, 5]
    texts = {(0,): "[-inf, 1)", (1,): "1", (0, 1): "[-inf, 1]", (2, 3): "(1, 2]", (3, 4): "[2, inf]", (4, 5): "(2, inf] or NaN"}
    for event, text in {**texts, (5,): "NaN", (1, 3): "1 or 2", (): "no output"}.items():
        assert cells.describe(np.array(event, np.int64)) == text
    assert Numbers(np.arange(9)).describe(np.arange(1, 19, 2)) == "0 or 1 or 2 or 3 or 5 more"


def test_cells_are_learnt_from_both_datasets() -> None:
    few = learn(np.array([1, 2]), np.array([2, 5]))
    assert few.find(np.array([1, 2, 5, 4])).tolist() == [1, 3, 5, 4]
    line = np.linspace(0, 1, 20_000)
    many = learn(line, np.append(line, [math.nan] * 3))
    assert 100 < many.size < 400
    counts = np.bincount(many.find(line), minlength=many.size)
    assert counts.max() < 1200
    assert counts[0] <= 16  # finer towards the ends
    labels = learn(["a", "b"], ["b", (1, 2)])
    assert isinstance(labels, Labels)
    assert labels.find(["b", "new", "newer"]).tolist() == [0, 3, 3]
    assert isinstance(learn(np.array([1.0]), ["a"]), Labels)
    # whatever else a piece of the outputs holds
    mixed = learn(normal(["a"] * 9 + [math.nan]), normal([math.nan, 1.0]))
    assert mixed.find(normal([math.nan, 1.0])).tolist() == mixed.find(normal([math.nan, 1.0, "a"])).tolist()[:2] == [1, 2]
    assert "seldom" in labels.describe(np.array([3]))
    assert learn(np.array([math.nan]), np.array([math.nan])).find(np.array([math.nan])).tolist() == [1]


def test_the_event_is_the_best_of_those_by_ratio() -> None:
    counts, other = 100 * np.array([100, 3000, 6900]), 100 * np.array([10, 1000, 8990])
    for_epsilon, for_delta = choose(counts, other, is_ordered=False, epsilon=1.0, delta=0.0, z=3.0)
    assert for_epsilon.tolist() == [0]
    assert for_delta.tolist() == [0, 1]
    half_line, _ = choose(counts, other, is_ordered=True, epsilon=1.0, delta=0.05, z=3.0)
    assert half_line.tolist() == [0, 1]
    assert Codes(3).describe(np.arange(3)) == "code 0 or code 1 or code 2"


def test_long_runs_are_drawn_in_pieces() -> None:
    sizes: list[int] = []

    def constant(dataset: int, size: int) -> Any:
        sizes.append(size)
        return np.zeros(size, np.int8)

    samples = 2 * PIECE + 11
    report = audit(constant, [(0, 1)], epsilon=0.0, samples=samples, vectorised=True)
    assert sum(sizes) == 2 * samples
    assert max(sizes) == PIECE
    assert not report.rejected
    assert str(samples) in report.cannot_see


def test_reports_are_fit_for_json_and_hold_no_dataset() -> None:
    secret = "canary-81e0"
    report = audit(coin, [(secret, "other")], epsilon=0.0, samples=1000, vectorised=True)
    assert report.pair is not None
    assert secret in report.pair
    text = json.dumps(report.to_dict())
    assert secret not in text + repr(report) + str(report)
    assert json.loads(text)["verdict"] == "not refuted"
    for event in (report.event, audit(RESPONSE).event):
        assert pickle.loads(pickle.dumps(event)).contains([0, 1]).shape == (2,)
    assert audit(RESPONSE, samples=1000).method == "exact"
    assert "confidence" in str(audit(lambda dataset: dataset, [(0, 1)], epsilon=1.0, samples=200))
