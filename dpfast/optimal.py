"""Optimal parents: the matrix with the least loss among all that are private enough, by linear programming."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any, Final, Literal

import numpy as np

from dpfast._rounding import exp_enclosure
from dpfast._statement import check_delta, check_epsilon
from dpfast.domain import Domain
from dpfast.errors import ArgumentError, ArgumentTypeError, MissingPackageError, SolverError
from dpfast.exponential import NAMES, distances
from dpfast.hockey_stick import table_delta, table_epsilon
from dpfast.integer_table import IntegerTable, realise, stochastic
from dpfast.matrix import TableMechanism

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

__all__ = ["OptimalResponse", "optimal_response"]

CATEGORIES_MAX: Final = 512  # beyond, the program has a million rows
TRIPLES_MAX: Final = 32  # with delta > 0 it has one for every two categories and answer
EPSILON_NEAR: Final = 15.0  # from here on the tolerance of the solver is no longer small beside e^-epsilon
EPSILON_MAX: Final = 25.0  # of a program: HiGHS fails on greater ratios
TOLERANCE: Final = 1e-10  # the least that HiGHS takes


class OptimalResponse(TableMechanism):
    """What `optimal_response` returns: a matrix, and how good it is.

    Attributes
    ----------
    epsilon, delta : float
        As asked for; `epsilon_at` and `delta_at` are those of the integer table.
    objective : {"minimax", "bayes"}
    loss : float
        Expected loss of the integer table, by the objective: of the worst category, or on average over the prior.
    least_loss : float
        The value of the linear program: no private mechanism on this domain has a smaller loss, up to the solver's tolerance.
    """

    kind = "optimal"

    def __init__(
        self, domain: Domain, table: IntegerTable, *, epsilon: float, delta: float, objective: str, loss: float, least_loss: float
    ) -> None:
        super().__init__(domain, table, epsilon=epsilon, delta=delta)
        self.objective = objective
        self.loss = loss
        self.least_loss = least_loss

    def __repr__(self) -> str:
        delta = f", delta={self.delta!r}" if self.delta else ""
        return f"optimal_response({self.domain!r}, epsilon={self.epsilon!r}{delta}, objective={self.objective!r})"


def optimal_response(
    domain: Any,
    *,
    loss: str | ArrayLike,
    epsilon: float,
    delta: float = 0.0,
    prior: ArrayLike | None = None,
    objective: Literal["minimax", "bayes"] = "minimax",
) -> OptimalResponse:
    """Return the mechanism with the least expected loss among all (epsilon, delta)-private ones on a domain.

    Parameters
    ----------
    domain : Domain, list, tuple, range, Enum class or path
        The public alphabet, k categories.
    loss : {"hamming", "ordinal", "circular"} or array_like of shape (k, k)
        Loss of answer x (column) when the truth is i (row): finite numbers that are not negative. Public.
    epsilon : float
        Privacy loss of one row, >= 0.
    delta : float, default 0.0
        In [0, 1).
    prior : array_like of shape (k,), optional
        Public weights of the categories for ``objective="bayes"``; they are divided by their sum. Default: equal.
    objective : {"minimax", "bayes"}, default "minimax"
        The expected loss of the worst category, or the average over the prior.

    Returns
    -------
    OptimalResponse

    Raises
    ------
    ArgumentTypeError, ArgumentError
        An argument is not what it must be, or the program would be too large: about k^2 unknowns at delta = 0, k^3 otherwise,
        divided by the symmetry of the loss.
    MissingPackageError
        scipy is not installed.
    SolverError
        The solver gave up.

    Notes
    -----
    **Privacy guarantee.** Neighbours: ``replace_one``, n public; unit: a row. Whatever the solver returns is mixed with its
    average row, which is private at any budget, until the integer table meets (epsilon, delta) exactly; the part mixed in is
    about 1e-9. `loss` is that of the table.
    **Method.** Minimise the loss subject to rows that sum to 1 and P[i, x] <= e^epsilon P[j, x] + s[i, j, x] with
    sum_x s[i, j, x] <= delta. At delta = 0 that is l[x] <= P[i, x] <= e^epsilon l[x]: 2 k^2 rows and not k^3. Permutations of the
    categories that leave loss and prior as they are leave some optimum as it is, so entries that they carry into each other
    are one unknown.
    Doubles cannot hold ratios above about e^25: the program is solved for that epsilon at most, and from epsilon 15 on the answer
    is compared with the cheapest answers randomised as in randomised response, whose loss is within a factor k of e^-epsilon.
    For the 0/1 loss the answer is randomised response (Theorem A1 of the mathematics: no other parent errs less).
    **Cost.** HiGHS: seconds at k = 64 without symmetry at delta = 0.

    References
    ----------
    .. [1] N. Holohan, D. Leith, O. Mason, "Differentially private response mechanisms on categorical data", section 4,
       arXiv 1505.07254.

    Examples
    --------
    >>> from dpfast import optimal_response
    >>> mechanism = optimal_response(["none", "some", "much"], loss="ordinal", epsilon=1.0)
    >>> round(mechanism.loss, 3), mechanism.epsilon_at() <= 1.0
    (0.605, True)
    """
    budget, slack = check_epsilon(epsilon), check_delta(delta)
    public = Domain.of(domain)
    k = public.size
    costs = _costs(loss, k)
    weights = _prior(prior, objective, k)
    matrix, least = _solved(costs, min(budget, EPSILON_MAX), slack, weights)
    table = _private(matrix, budget, slack)
    value = _value(table, costs, weights)
    if k > 1 and budget > EPSILON_NEAR:
        near = _private(_nearest(costs, budget, slack), budget, slack)
        if (bound := _value(near, costs, weights)) < value:
            table, value, least = near, bound, min(least, bound)
    return OptimalResponse(public, table, epsilon=budget, delta=slack, objective=objective, loss=value, least_loss=least)


def _value(table: IntegerTable, costs: NDArray[np.float64], weights: NDArray[np.float64] | None) -> float:
    losses = (table.floats(unknown=False) * costs).sum(axis=1) / 2.0**64
    return float(losses.max() if weights is None else weights @ losses)


def _nearest(costs: NDArray[np.float64], epsilon: float, delta: float) -> NDArray[np.float64]:
    """The matrix that gives every category its cheapest answer as often as randomised response keeps it."""
    k = costs.shape[0]
    low, _, one = exp_enclosure(min(epsilon, 700.0), 30)
    matrix = np.full((k, k), (1.0 - delta) / (low / one + k - 1))
    matrix[np.arange(k), costs.argmin(axis=1)] = 0.0
    matrix[np.arange(k), costs.argmin(axis=1)] = 1.0 - matrix.sum(axis=1)
    return matrix


def _costs(loss: str | ArrayLike, k: int) -> NDArray[np.float64]:
    if isinstance(loss, str) and loss not in NAMES:
        raise ArgumentError(f"loss must be one of {', '.join(map(repr, NAMES))}, or an array of shape ({k}, {k})")
    try:
        return distances(loss, k)
    except (ArgumentError, ArgumentTypeError) as error:
        raise type(error)(str(error).replace("distances", "losses").replace("distance", "loss")) from None


def _prior(prior: ArrayLike | None, objective: str, k: int) -> NDArray[np.float64] | None:
    """Weights of the categories; None where the worst one counts."""
    if objective not in ("minimax", "bayes"):
        raise ArgumentError("objective must be 'minimax' or 'bayes'")
    if objective == "minimax":
        if prior is not None:
            raise ArgumentError("prior belongs to objective='bayes'; the worst category has no prior")
        return None
    if prior is None:
        return np.full(k, 1.0 / k)
    try:
        weights = np.asarray(prior, dtype=np.float64)
    except (TypeError, ValueError, OverflowError):
        raise ArgumentTypeError("prior must be an array of numbers, one for each category") from None
    if weights.shape != (k,) or not np.isfinite(weights).all() or (weights < 0).any() or weights.sum() <= 0:
        raise ArgumentError(f"prior must hold {k} finite numbers that are not negative, not all 0")
    normal: NDArray[np.float64] = weights / weights.sum()
    return normal


def _orbits(costs: NDArray[np.float64], weights: NDArray[np.float64] | None) -> list[NDArray[np.int64]]:
    """Permutations of the categories that leave loss and prior as they are: of a rotation, a reversal, swaps of neighbours."""
    k = costs.shape[0]
    identity = np.arange(k)
    tried = [np.roll(identity, 1), identity[::-1].copy()]
    for i in range(k - 1):
        swap = identity.copy()
        swap[[i, i + 1]] = i + 1, i
        tried.append(swap)
    return [
        p for p in tried if k > 1 and (costs[np.ix_(p, p)] == costs).all() and (weights is None or (weights[p] == weights).all())
    ]


def _labels(shape: tuple[int, ...], permutations: list[NDArray[np.int64]]) -> NDArray[np.int64]:
    """Number of the orbit of each index tuple, under permutations that act on every index alike."""
    labels = np.arange(np.prod(shape), dtype=np.int64).reshape(shape)
    while True:
        before = labels.copy()
        for p in permutations:
            for move in (p, np.argsort(p)):
                labels = np.minimum(labels, labels[np.ix_(*(move for _ in shape))])
        if (labels == before).all():
            return np.unique(labels, return_inverse=True)[1].reshape(shape)


def _solved(
    costs: NDArray[np.float64], epsilon: float, delta: float, weights: NDArray[np.float64] | None
) -> tuple[NDArray[np.float64], float]:
    """The matrix that the solver finds, and the value of the program."""
    k = costs.shape[0]
    if k == 1:
        return np.ones((1, 1)), float(costs[0, 0])
    try:
        sparse = importlib.import_module("scipy.sparse")
        optimize = importlib.import_module("scipy.optimize")
    except ImportError:
        raise MissingPackageError("optimal_response needs scipy: pip install 'dpfast[optimal]'") from None
    if k > (TRIPLES_MAX if delta else CATEGORIES_MAX):
        raise ArgumentError(
            f"a linear program over {k} categories{' with delta > 0' if delta else ''} is too large; "
            "take fewer categories, delta = 0, or ExponentialResponse"
        )
    permutations = _orbits(costs, weights)
    cell = _labels((k, k), permutations)
    column = _labels((k,), permutations)
    n_cells, n_columns = int(cell.max()) + 1, int(column.max()) + 1
    program = _Program(sparse)
    low, _, one = exp_enclosure(min(epsilon, 700.0), 30)
    ratio = low / one
    x = program.unknowns(n_cells)
    if delta == 0.0:
        floor = program.unknowns(n_columns)
        columns = np.broadcast_to(column, (k, k))
        pairs = np.unique(np.stack([cell.ravel(), columns.ravel()], axis=1), axis=0)
        program.at_most([(x[pairs[:, 0]], -1.0), (floor[pairs[:, 1]], 1.0)], 0.0)
        program.at_most([(x[pairs[:, 0]], 1.0), (floor[pairs[:, 1]], -ratio)], 0.0)
    else:
        triple = _labels((k, k, k), permutations)  # (i, j, x)
        excess = program.unknowns(int(triple.max()) + 1)
        i, j, y = np.indices((k, k, k)).reshape(3, -1)
        first = np.unique(triple.ravel(), return_index=True)[1]
        i, j, y = i[first], j[first], y[first]
        program.at_most([(x[cell[i, y]], 1.0), (x[cell[j, y]], -ratio), (excess[triple[i, j, y]], -1.0)], 0.0)
        pair = _labels((k, k), permutations)
        chosen = np.unique(pair.ravel(), return_index=True)[1]
        a, b = np.divmod(chosen, k)
        program.at_most_sums([excess[triple[a[n], b[n]]] for n in range(a.size) if a[n] != b[n]], delta)
    rows = np.unique(column, return_index=True)[1]  # one category of each orbit
    program.equal_sums([x[cell[i]] for i in rows], 1.0)
    if weights is None:
        worst = program.unknowns(1)
        for i in rows:
            program.at_most_row(x[cell[i]], costs[i], worst[0])
        program.minimise(worst, np.ones(1))
    else:
        program.minimise(x[cell.ravel()], (weights[:, None] * costs).ravel())
    solution = program.solve(optimize)
    return solution.x[x][cell], float(solution.fun)


class _Program:
    """A linear program in non-negative unknowns, built row by row."""

    def __init__(self, sparse: Any) -> None:
        self._sparse = sparse
        self._size = 0
        self._limits: list[Any] = []
        self._limit_values: list[Any] = []
        self._sums: list[Any] = []
        self._sum_values: list[Any] = []
        self._costs: list[tuple[Any, Any]] = []

    def unknowns(self, count: int) -> NDArray[np.int64]:
        self._size += count
        return np.arange(self._size - count, self._size)

    def at_most(self, terms: list[tuple[NDArray[np.int64], float]], value: float) -> None:
        """For each n: the sum over terms of factor times unknown terms[n] is at most value."""
        count = terms[0][0].size
        numbers = np.arange(count)
        self._limits.append([(numbers, unknown, np.full(count, factor)) for unknown, factor in terms])
        self._limit_values.append(np.full(count, value))

    def at_most_sums(self, groups: list[NDArray[np.int64]], value: float) -> None:
        self._limits.append([(np.full(g.size, n), g, np.ones(g.size)) for n, g in enumerate(groups)])
        self._limit_values.append(np.full(len(groups), value))

    def at_most_row(self, unknowns: NDArray[np.int64], factors: NDArray[np.float64], bound: int) -> None:
        """The weighted sum is at most the unknown `bound`."""
        zeros = np.zeros(unknowns.size, np.int64)
        self._limits.append([(zeros, unknowns, factors), (np.zeros(1, np.int64), np.array([bound]), -np.ones(1))])
        self._limit_values.append(np.zeros(1))

    def equal_sums(self, groups: list[NDArray[np.int64]], value: float) -> None:
        self._sums.append([(np.full(g.size, n), g, np.ones(g.size)) for n, g in enumerate(groups)])
        self._sum_values.append(np.full(len(groups), value))

    def minimise(self, unknowns: NDArray[np.int64], factors: NDArray[np.float64]) -> None:
        self._costs.append((unknowns, factors))

    def solve(self, optimize: Any) -> Any:
        costs = np.zeros(self._size)
        for unknowns, factors in self._costs:
            np.add.at(costs, unknowns, factors)
        options = {"primal_feasibility_tolerance": TOLERANCE, "dual_feasibility_tolerance": TOLERANCE}
        solution = optimize.linprog(
            costs,
            A_ub=self._matrix(self._limits, self._limit_values),
            b_ub=np.concatenate(self._limit_values),
            A_eq=self._matrix(self._sums, self._sum_values),
            b_eq=np.concatenate(self._sum_values),
            method="highs",
            options=options,
        )
        if solution.x is None:
            raise SolverError("the linear program was not solved; take losses of similar size, or another epsilon")
        return solution

    def _matrix(self, groups: list[Any], values: list[Any]) -> Any:
        starts = np.concatenate([[0], np.cumsum([v.size for v in values])])
        parts = [
            (row + start, unknown, factor) for start, group in zip(starts, groups, strict=False) for row, unknown, factor in group
        ]
        row, unknown, factor = (np.concatenate(column) for column in zip(*parts, strict=True))
        return self._sparse.coo_matrix((factor, (row, unknown)), shape=(int(starts[-1]), self._size)).tocsr()


def _private(matrix: NDArray[np.float64], epsilon: float, delta: float) -> IntegerTable:
    """The integer table of a matrix mixed with its average row, as little as makes it private."""
    clean = np.clip(matrix, 0.0, None)
    clean[:, clean.max(axis=0) < 10 * TOLERANCE] = 0.0  # a column that the solver means to be empty
    clean /= clean.sum(axis=1, keepdims=True)
    average = clean.mean(axis=0)
    share = 0.0
    while True:
        table = realise(stochastic((1 - share) * clean + share * average, clean.shape[0]))
        private = (
            table_epsilon(table, 0.0, unknown=True) <= epsilon
            if delta == 0.0
            else table_delta(table, epsilon, unknown=True) <= delta
        )
        if private or share >= 1.0:
            return table
        share = min(1.0, max(2 * share, 2.0**-40))
