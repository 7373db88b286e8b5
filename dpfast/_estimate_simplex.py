"""Maximum likelihood on the simplex: the shares, none negative, under which the answered counts are most likely.

**Closed form** for randomised response. With tau = p / g the expected answered share of category j is proportional to
pi_j + tau, and the maximum of sum_j c_j log(pi_j + tau) over the simplex is a water-filling: pi_j = (c_j / mu - tau)+, where
mu is set by the r largest counts, mu = (their sum) / (1 + r tau), for the largest r that leaves them all positive.

**Expectation maximisation** for every channel, several columns included: pi_j <- pi_j d_j with d = P (c / (n lambda)) and
lambda = P^T pi. The log-likelihood L is concave, its gradient in pi is d, and sum_j pi_j d_j = 1; hence

    0 <= L(best) - L(pi) <= max_j d_j - 1   (per row),

a bound that needs no knowledge of the best. Iteration ends when it and the l1 length of a step are within the tolerance.
Steps are extrapolated (squared, [1]_) in log pi, where shares stay positive and those that vanish do so at a constant rate; an
extrapolation that lowers the likelihood is shortened and at last dropped. Up to 1,024 cells a Newton step [2]_ on
-L(x) + sum(x), x >= 0, whose minimum is on the simplex, is tried after a few of them: it settles which shares are zero. It is
taken if the likelihood gains enough, or the conditions of the maximum come twice as near. The likelihood never falls, but for
rounding.

References
----------
.. [1] R. Varadhan, C. Roland, Simple and globally convergent methods for accelerating the convergence of any EM algorithm,
   Scand. J. Statist. 35, 2008.
.. [2] Y. Kim, P. Carbonetto, M. Stephens, M. Anitescu, A fast algorithm for maximum likelihood estimation of mixture
   proportions using sequential quadratic programming, J. Comput. Graph. Statist. 29, 2020.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from dpfast.channel import Channel

__all__ = ["Maximum", "expectation_maximisation", "water_filling"]

SHORTENINGS: Final = 3  # of an extrapolation, before it is dropped
NEWTON_FIRST: Final = 4  # iterations before Newton's method is tried; after a failure twice as many pass
NEWTON_MAX: Final = 1024  # cells, for which the product matrix is written down
NEAR: Final = 1e-6  # shares below it are guessed to be zero, to begin with
DAMPING: Final = 1e-12  # relative to the mean second derivative: a model that is flat in places has a lowest point too
SHORTEST: Final = 2.0**-6  # Newton step
ENOUGH: Final = 0.1  # of the gain that the slope promises
FLOOR: Final = 1e-14  # what Newton's method takes for zero: small enough to be it, large enough to come back from
PIVOTS, PATIENCE = 60, 3
ROUNDING: Final = 2.0**-50  # of a likelihood
TINY: Final = 1e-300  # shares stay positive, so that an early mistake can be undone


@dataclass(frozen=True)
class Maximum:
    """Where the iteration ended.

    Attributes
    ----------
    shares : ndarray
        On the simplex.
    iterations : int
        Double steps made.
    gap : float
        Bound on the log-likelihood per row still to be gained.
    converged : bool
        Whether the tolerance was reached.
    """

    shares: NDArray[np.float64]
    iterations: int
    gap: float
    converged: bool


def water_filling(answered: NDArray[np.float64], p: float, g: float) -> NDArray[np.float64]:
    """Return the most likely true shares under randomised response.

    Parameters
    ----------
    answered : ndarray, shape (k,)
        Answered shares; they add up to 1.
    p, g : float
        Probability of each other answer, and 1 - k p > 0.

    Returns
    -------
    ndarray, shape (k,)

    Notes
    -----
    Cost: a sort.

    Examples
    --------
    >>> water_filling(np.array([0.6, 0.35, 0.05]), 0.1, 0.7).round(6).tolist()
    [0.669173, 0.330827, 0.0]
    """
    tau = p / g
    largest = np.sort(answered)[::-1]
    r = np.arange(1, answered.size + 1)
    mu = np.cumsum(largest) / (1 + r * tau)
    # The test holds for r up to the one sought and for none beyond; for r = 1 it always does.
    last = np.flatnonzero(largest > mu * tau)[-1]
    result: NDArray[np.float64] = np.maximum(answered / mu[last] - tau, 0.0)
    return result


def expectation_maximisation(
    answered: NDArray[np.float64], channels: Sequence[Channel], *, tolerance: float, max_iterations: int
) -> Maximum:
    """Return the most likely true shares under any channels, one for each axis.

    Parameters
    ----------
    answered : ndarray
        Answered shares of the cells; they add up to 1.
    channels : sequence of Channel
        One for each axis.
    tolerance : float
        For the likelihood per row and for the l1 length of a step.
    max_iterations : int
        Of double steps.

    Returns
    -------
    Maximum

    Notes
    -----
    Cost: about three applications of the channels, and as many of their transposes, an iteration.
    """
    problem = _Problem(answered, channels)
    shares = np.full(answered.shape, 1 / answered.size)
    answers = problem.expected(shares)
    slope = problem.gradient(answers)
    wait = pause = NEWTON_FIRST
    for iteration in range(max_iterations + 1):
        gap = max(float(slope.max()) - 1, 0.0)
        if gap <= tolerance and float((shares * abs(slope - 1)).sum()) <= tolerance:
            shares = np.where((shares <= 2 * FLOOR) & (slope < 1), 0.0, shares)
            return Maximum(shares / shares.sum(), iteration, gap, converged=True)
        if iteration == max_iterations:
            break
        newton = problem.newton(shares, answers, slope) if not wait else None
        if newton is None:
            pause = pause if wait else 2 * pause
            wait = wait - 1 if wait else pause
        shares, answers = newton or _squared(problem, shares, slope)
        slope = problem.gradient(answers)
    return Maximum(shares, max_iterations, gap, converged=False)


def _squared(
    problem: _Problem, shares: NDArray[np.float64], slope: NDArray[np.float64]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Two steps of expectation maximisation, extrapolated if that is better: new shares and expected answers."""
    first = _positive(shares * slope)
    second_slope = problem.gradient(problem.expected(first))
    second = _positive(first * second_slope)
    answers = problem.expected(second)
    reached = problem.likelihood(answers)
    step = np.log(np.maximum(slope, TINY))
    turn = np.log(np.maximum(second_slope, TINY)) - step
    # Weighted by the shares, so that vanishing ones do not set the length.
    bend = float((first * turn * turn).sum())
    length = float(np.sqrt((first * step * step).sum() / bend)) if bend > 0 else 1.0
    for _ in range(SHORTENINGS):
        if length <= 1:
            break
        # x0 + 2 a r + a^2 v on the log scale, seen from the first step x1 = x0 + r.
        logs = np.log(first) + (2 * length - 1) * step + length * length * turn
        trial = _positive(np.exp(logs - logs.max()))
        trial_answers = problem.expected(trial)
        if problem.likelihood(trial_answers) >= reached:
            return trial, trial_answers
        length = (length + 1) / 2
    return second, answers


class _Problem:
    """Answered shares and channels: the likelihood and what it needs."""

    def __init__(self, answered: NDArray[np.float64], channels: Sequence[Channel]) -> None:
        self.answered = answered
        self.channels = channels
        self.seen = answered > 0
        self.matrix: NDArray[Any] | None = None
        if answered.size <= NEWTON_MAX:
            matrix: NDArray[Any] = np.eye(1)
            for channel in channels:
                matrix = np.kron(matrix, channel.matrix)
            self.matrix = matrix[:, self.seen.ravel()]

    def expected(self, shares: NDArray[np.float64]) -> NDArray[np.float64]:
        for axis, channel in enumerate(self.channels):
            shares = channel.answer(shares, axis)
        return shares

    def likelihood(self, answers: NDArray[np.float64]) -> float:
        with np.errstate(divide="ignore"):
            return float(self.answered[self.seen] @ np.log(answers[self.seen]))

    def gradient(self, answers: NDArray[np.float64]) -> NDArray[np.float64]:
        weights = np.divide(self.answered, answers, out=np.zeros_like(self.answered), where=self.seen)
        for axis, channel in enumerate(self.channels):
            weights = channel.back(weights, axis)
        return weights

    def newton(
        self, shares: NDArray[np.float64], answers: NDArray[np.float64], slope: NDArray[np.float64]
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]] | None:
        """A step to the lowest point of the quadratic model, if it is worth it; else None."""
        if self.matrix is None:
            return None
        x, down = shares.ravel(), (1 - slope).ravel()
        rows = self.matrix * (np.sqrt(self.answered[self.seen]) / answers[self.seen])
        bend = rows @ rows.T
        bend += DAMPING * np.trace(bend) / len(bend) * np.eye(len(bend))
        move = _lowest(bend, bend @ x - down, x > NEAR) - x
        before, reached, gain = _distance(shares, slope), self.likelihood(answers), -float(down @ move)
        length = 1.0
        while length >= SHORTEST:
            trial = np.maximum(x + length * move, FLOOR)
            candidate = (trial / trial.sum()).reshape(shares.shape)
            candidate_answers = self.expected(candidate)
            change = self.likelihood(candidate_answers) - reached
            is_near = change >= -ROUNDING * (1 + abs(reached))
            if change >= ENOUGH * length * gain or (
                is_near and _distance(candidate, self.gradient(candidate_answers)) <= before / 2
            ):
                return candidate, candidate_answers
            length /= 2
        return None


def _lowest(bend: NDArray[np.float64], goal: NDArray[np.float64], inside: NDArray[np.bool_]) -> NDArray[np.float64]:
    """The y >= 0 where y bend y / 2 - goal y is lowest, by block pivoting from a guess of which entries are positive."""
    slack = 1e-12 * float(abs(goal).max())
    fewest, patience = len(goal) + 1, PATIENCE
    found = np.zeros(len(goal))
    for _ in range(PIVOTS):
        found[:] = 0.0
        found[inside] = np.linalg.solve(bend[np.ix_(inside, inside)], goal[inside])
        wrong = np.where(inside, found < 0, bend @ found < goal - slack)
        count = int(wrong.sum())
        if not count:
            break
        if count < fewest:
            fewest, patience = count, PATIENCE
        elif patience:
            patience -= 1
        else:  # one exchange at a time cannot go round in circles
            wrong[: np.flatnonzero(wrong)[-1]] = False
        inside = inside ^ wrong
    return np.maximum(found, 0.0)


def _distance(shares: NDArray[np.float64], slope: NDArray[np.float64]) -> float:
    """How far from the conditions of the maximum: no slope above 1, slope 1 wherever there is a share."""
    return max(float(slope.max()) - 1, 0.0) + float((shares * abs(slope - 1)).sum())


def _positive(shares: NDArray[np.float64]) -> NDArray[np.float64]:
    raised = np.maximum(shares, TINY)
    result: NDArray[np.float64] = raised / raised.sum()
    return result
