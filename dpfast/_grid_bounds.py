"""Bounds of a composition on a grid: which step, which pairs of rows, and in which order the parts are convolved."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Mapping
from itertools import combinations_with_replacement, product

from dpfast._grid_composition import Convolution, Pair, Weights, envelope, pair_of_law, pair_of_rows, rounded, spread
from dpfast._losses import Law, Table

__all__ = ["grid_bounds", "grid_delta"]

# Knots over the whole range of losses: a first attempt, then more until the bounds are near each other.
FIRST_KNOTS = 2**15
MOST_KNOTS = 2**19
TABLE_KNOTS = 2**12
MOST_TABLE_KNOTS = 2**14
NEAR = 1e-5
SMALLEST_RANGE = 1e-6
# All choices of pairs are looked at if they are so few; else some, on a coarser grid.
FEW_CHOICES = 250
SEARCH_KNOTS = 2**11
MOST_CANDIDATES = 6
MOST_TRIALS = 80
# Cut off at most this share of delta, all cuts together about 2**-30 of it.
CUT = 2.0**-40
CUT_EVERY = 8
SMALLEST_CUT = 1e-60

Rows = tuple[int, int]
# How many copies of a table use which ordered pair of rows.
Choice = dict[Table, dict[Rows, int]]


def grid_bounds(laws: Mapping[Law, int], tables: Mapping[Table, int], delta: float) -> tuple[float, float]:
    """Return (lower, upper) around the smallest epsilon of the composition, delta > 0."""
    reach = _range(laws, tables)
    knots = TABLE_KNOTS if tables else FIRST_KNOTS
    most = MOST_TABLE_KNOTS if tables else MOST_KNOTS
    every = _every_choice(tables)
    lower, upper = 0.0, math.inf
    choice: Choice | None = None
    while True:
        step, before = reach / knots, upper
        if every:
            found = [_convolve(_spread(laws, one, step), step, delta * CUT).epsilon_above(delta) for one in every]
            upper = min(upper, max(found))
            choice = every[found.index(max(found))]
        else:
            parts, shift, candidates = _enveloped(laws, tables, step)
            upper = min(upper, _convolve(parts, step, delta * CUT).epsilon_above(delta) + shift)
            if choice is None and upper < math.inf:
                choice = _choose(laws, tables, candidates, reach / SEARCH_KNOTS, upper, delta)
        if choice is None or upper == math.inf:
            return lower, upper
        lower = max(lower, _explicit(laws, choice, step, upper, delta))
        is_settled = upper - lower <= max(NEAR * upper, 1e-10) or (not every and before - upper <= NEAR * upper)
        if is_settled or knots >= most:
            return min(lower, upper), upper
        knots *= 4


def grid_delta(laws: Mapping[Law, int], tables: Mapping[Table, int], epsilon: float) -> float:
    """Return an upper bound of the smallest delta of the composition at an epsilon."""
    step = _range(laws, tables) / (MOST_TABLE_KNOTS if tables else 4 * FIRST_KNOTS)
    every = _every_choice(tables)
    if every:
        totals, shift = [_convolve(_spread(laws, choice, step), step, SMALLEST_CUT) for choice in every], 0.0
    else:
        parts, shift, _ = _enveloped(laws, tables, step)
        totals = [_convolve(parts, step, SMALLEST_CUT)]
    return max(total.delta_above(max(0.0, epsilon - shift - total.blur)) for total in totals)


def _range(laws: Mapping[Law, int], tables: Mapping[Table, int]) -> float:
    """Return the largest finite loss of the whole, roughly; not so small that exponentials of knots run together."""
    total = sum(law.loss * n for law, n in laws.items()) + sum(table.finite_loss * n for table, n in tables.items())
    return max(total, SMALLEST_RANGE)


def _every_choice(tables: Mapping[Table, int]) -> list[Choice]:
    """Return all choices of a pair of rows for each copy, or none if they are many."""
    if math.prod(math.comb(len(table.pairs) + n - 1, n) for table, n in tables.items()) > FEW_CHOICES:
        return []
    each = [[(table, dict(Counter(one))) for one in combinations_with_replacement(table.pairs, n)] for table, n in tables.items()]
    return [dict(choice) for choice in product(*each)]


def _spread(laws: Mapping[Law, int], choice: Choice, step: float) -> list[tuple[Weights, int]]:
    """Return dominating weights of each part under one choice of pairs."""
    return [(spread(pair, step), n) for pair, n in _pairs(laws, choice)]


def _pairs(laws: Mapping[Law, int], choice: Choice) -> list[tuple[Pair, int]]:
    pairs = [(pair_of_law(law), n) for law, n in laws.items()]
    return pairs + [(pair_of_rows(table, *rows), n) for table, chosen in choice.items() for rows, n in chosen.items() if n]


def _enveloped(
    laws: Mapping[Law, int], tables: Mapping[Table, int], step: float
) -> tuple[list[tuple[Weights, int]], float, dict[Table, dict[Rows, int]]]:
    """Return dominating weights of each part, a shift of all losses, and the worst pairs of each table."""
    parts = _spread(laws, {}, step)
    shift = 0.0
    candidates = {}
    for table, n in tables.items():
        weights, eta, candidates[table] = envelope(table, step)
        parts.append((weights, n))
        shift += eta * n * (1 + 1e-9)
    return parts, shift, candidates


def _convolve(parts: list[tuple[Weights, int]], step: float, cut: float) -> Convolution:
    """Convolve dominating weights."""
    total = Convolution(step, cut)
    left = sum((weights.first + weights.values.size - 1) * n for weights, n in parts)
    for count, weights in enumerate(_each(parts)):
        total.add(weights)
        left -= weights.first + weights.values.size - 1
        if count % CUT_EVERY == CUT_EVERY - 1:
            # What no further part can lift above epsilon 0 adds nothing to delta.
            total.keep(-left, total.last + 1)
            total.cut()
    return total


def _each(parts: list[tuple[Weights, int]]) -> Iterator[Weights]:
    for weights, n in parts:
        for _ in range(n):
            yield weights


def _explicit(laws: Mapping[Law, int], choice: Choice, step: float, epsilon: float, delta: float) -> float:
    """Return an epsilon that one choice of pairs needs."""
    p, q = Convolution(step, delta * CUT), Convolution(step, 0.0)
    count = 0
    for pair, n in _pairs(laws, choice):
        p_weights, q_weights = rounded(pair, step)
        for _ in range(n):
            p.add(p_weights)
            q.add(q_weights)
            count += 1
            if count % CUT_EVERY == 0:
                p.cut(q)
    return p.epsilon_below(q, epsilon, delta)


def _choose(
    laws: Mapping[Law, int],
    tables: Mapping[Table, int],
    candidates: Mapping[Table, Mapping[Rows, int]],
    step: float,
    epsilon: float,
    delta: float,
) -> Choice:
    """Choose pairs of rows whose composition needs a large epsilon: one pair for all copies, then blocks of copies moved."""
    options = {
        table: sorted(found, key=lambda pair: -found[pair])[:MOST_CANDIDATES] or table.pairs[:1]
        for table, found in candidates.items()
    }
    choice: Choice = {table: {pairs[0]: tables[table]} for table, pairs in options.items()}
    if not choice:
        return choice
    best, trials = _explicit(laws, choice, step, epsilon, delta), 0
    blocks = {table: n for table, n in tables.items()}
    improved = True
    while trials < MOST_TRIALS and (improved or max(blocks.values()) > 1):
        if not improved:
            blocks = {table: max(1, n // 2) for table, n in blocks.items()}
        improved = False
        for table, pairs in options.items():
            for target in pairs:
                for source in [pair for pair, n in choice[table].items() if n and pair != target]:
                    moved = dict(choice[table])
                    block = min(blocks[table], moved[source])
                    moved[source] -= block
                    moved[target] = moved.get(target, 0) + block
                    trial = {**choice, table: moved}
                    found = _explicit(laws, trial, step, epsilon, delta)
                    trials += 1
                    if found > best:
                        best, choice, improved = found, trial, True
    return choice
