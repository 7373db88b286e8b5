"""The black-box audit: events chosen on one half of the samples and tested on the other, in both directions of every pair."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from statistics import NormalDist
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from dpfast.audit._bounds import delta_below, epsilon_below, proved_shares, reach
from dpfast.audit._events import Cells, Codes, Event, choose
from dpfast.audit._learnt import learn
from dpfast.audit._report import AuditReport, Finding, unseen
from dpfast.audit._sources import PIECE, draw, mechanism_counts, normal

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from dpfast.audit._exact import TabledMechanism
    from dpfast.randomness import Stream

__all__ = ["Counted", "count_function", "count_mechanism", "sampled_report"]

DIRECTIONS = 2
EVENTS = 2  # one that bounds epsilon, one that bounds delta
ENDS = 2  # the least share under the dataset, the greatest under its neighbour


class Counted(NamedTuple):
    """Outputs of one dataset by cell: of the half that chooses, and of the half that tests."""

    chooses: NDArray[np.int64]
    tests: NDArray[np.int64]


def sampled_report(
    counted: Sequence[tuple[tuple[Any, Any], Cells, Counted, Counted]],
    *,
    epsilon: float,
    delta: float,
    samples: int,
    miss: float,
) -> AuditReport:
    """Return what the counts of all pairs prove together.

    Notes
    -----
    With N pairs, 8 N bounds are used, each wrong with probability miss / (8 N) at most, so all hold together with probability
    1 - miss (Bonferroni); samples may be shared between them.
    """
    own_miss = miss / (len(counted) * DIRECTIONS * EVENTS * ENDS)
    findings = []
    for (dataset, neighbour), cells, first, second in counted:
        for pair, one, other in (((dataset, neighbour), first, second), ((neighbour, dataset), second, first)):
            findings.append(_finding(pair, cells, one, other, epsilon=epsilon, delta=delta, miss=own_miss))
    epsilon_lower = max(found.epsilon_lower for found in findings)
    delta_lower = max(found.delta_lower for found in findings)
    tested = samples - samples // 2
    return AuditReport(
        method="samples",
        epsilon=epsilon,
        delta=delta,
        rejected=epsilon_lower > epsilon or delta_lower > delta,
        epsilon_lower=epsilon_lower,
        epsilon_upper=float("inf"),
        delta_lower=delta_lower,
        delta_upper=1.0,
        confidence=1 - miss,
        samples=samples,
        findings=tuple(findings),
        cannot_see=unseen(samples, reach(tested, own_miss), proved_shares((0, 0), (tested, tested), own_miss).high),
    )


def _finding(
    pair: tuple[Any, Any], cells: Cells, first: Counted, second: Counted, *, epsilon: float, delta: float, miss: float
) -> Finding:
    z = -NormalDist().inv_cdf(miss)
    events = choose(first.chooses, second.chooses, is_ordered=cells.is_ordered, epsilon=epsilon, delta=delta, z=z)
    tested = int(first.tests.sum()), int(second.tests.sum())
    bounds = []
    for event in events:
        hits = int(first.tests[event].sum()), int(second.tests[event].sum())
        shares = proved_shares(hits, tested, miss)
        bounds.append((epsilon_below(shares, delta), delta_below(shares, epsilon), hits, event))
    # each pair of ends holds for both statements; of two bounds the greater may be told
    epsilon_lower, delta_lower = max(bound[0] for bound in bounds), max(bound[1] for bound in bounds)
    shown = bounds[0] if bounds[0][0] == epsilon_lower else bounds[1]
    (hit, other_hit), event = shown[2], shown[3]
    return Finding(
        pair,
        epsilon_lower,
        float("inf"),
        delta_lower,
        1.0,
        Event(cells.describe(event), hit / tested[0], other_hit / tested[1], partial(_is_within, cells, event)),
    )


def _is_within(cells: Cells, event: NDArray[np.int64], outputs: Any) -> NDArray[np.bool_]:
    return np.isin(cells.find(normal(outputs)), event)


def count_mechanism(
    mechanism: TabledMechanism, pairs: Sequence[tuple[int, int]], samples: int, *, stream: Stream, threads: int | None
) -> list[tuple[tuple[Any, Any], Cells, Counted, Counted]]:
    """Draw the answers of each category that a pair has, once."""
    counted: dict[int, Counted] = {}
    for code in dict.fromkeys(code for pair in pairs for code in pair):
        halves = (samples // 2, samples - samples // 2)
        counted[code] = Counted(*(mechanism_counts(mechanism, code, half, stream=stream, threads=threads) for half in halves))
    cells = Codes(mechanism.domain.size)
    return [((i, j), cells, counted[i], counted[j]) for i, j in pairs]


def count_function(
    function: Callable[..., Any], pairs: Sequence[tuple[Any, Any]], samples: int, *, vectorised: bool
) -> list[tuple[tuple[Any, Any], Cells, Counted, Counted]]:
    """Draw the outputs of both datasets of each pair; memory does not grow with their number."""
    counted: list[tuple[tuple[Any, Any], Cells, Counted, Counted]] = []
    for pair in pairs:
        start = min(samples // 2, PIECE)
        drawn = [draw(function, dataset, start, vectorised=vectorised) for dataset in pair]
        cells = learn(*drawn)
        first, second = (
            _counted(function, dataset, outputs, cells, samples, vectorised=vectorised)
            for dataset, outputs in zip(pair, drawn, strict=True)
        )
        counted.append((pair, cells, first, second))
    return counted


def _counted(
    function: Callable[..., Any], dataset: Any, outputs: Any, cells: Cells, samples: int, *, vectorised: bool
) -> Counted:
    """Count the outputs that made the cells, and draw those that are missing of either half."""
    half = samples // 2
    chooses, tests = np.zeros((2, cells.size), np.int64)
    _add(chooses, cells, outputs)
    for counts, size in ((chooses, half - len(outputs)), (tests, samples - half)):
        for piece in _pieces(size):
            _add(counts, cells, draw(function, dataset, piece, vectorised=vectorised))
    return Counted(chooses, tests)


def _add(counts: NDArray[np.int64], cells: Cells, outputs: Any) -> None:
    counts += np.bincount(cells.find(outputs), minlength=cells.size)


def _pieces(size: int) -> Iterator[int]:
    for start in range(0, size, PIECE):
        yield min(PIECE, size - start)
