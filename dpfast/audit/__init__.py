"""Audits: is a mechanism as private as it says? Exactly, where its law is a table of integers; else from its outputs.

**What a passed audit means.** An exact audit without pairs proves the claim, for the table, if ``epsilon_upper <= epsilon`` or
``delta_upper <= delta``. An audit by samples proves nothing in favour of a claim: that it does not reject means that none was
found of the violations that so many samples can show, for these pairs (``cannot_see``). It is a test for faults, no ground for a
claim.

**What a failed one means.** The claim is false: certainly, or with the stated confidence. `AuditReport.event` is an attack.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from typing import Any, Final, Literal

from dpfast._policy_base import Rules
from dpfast._rounding import float_below, integer
from dpfast._statement import check_delta, check_epsilon
from dpfast._threads import check_threads
from dpfast.audit._events import Event
from dpfast.audit._exact import TabledMechanism, exact_report, worst_pairs
from dpfast.audit._report import AuditReport, Finding
from dpfast.audit._samples import count_function, count_mechanism, sampled_report
from dpfast.composition import compose_bounds
from dpfast.errors import ArgumentError, ArgumentTypeError
from dpfast.randomness import Stream
from dpfast.stratified import Stratified

__all__ = ["AuditReport", "Event", "Finding", "audit"]


def __dir__() -> list[str]:
    return sorted(__all__)


METHODS: Final = ("auto", "exact", "samples")
LEAST_SAMPLES: Final = 100
MOST_SAMPLES: Final = 1 << 40
MOST_COMPOSED: Final = 10_000  # releases of a person whose composition is bounded from below


def audit(
    mechanism: Any,
    pairs: Sequence[tuple[Any, Any]] | None = None,
    *,
    epsilon: float | None = None,
    delta: float | None = None,
    samples: int | None = None,
    confidence: float = 0.99,
    rng: Stream | None = None,
    method: Literal["auto", "exact", "samples"] = "auto",
    vectorised: bool = False,
    threads: int | None = None,
) -> AuditReport:
    """Look for a violation of (epsilon, delta)-differential privacy.

    Parameters
    ----------
    mechanism : mechanism, Stratified, Policy or callable
        Of dpfast: anything with an integer table, a rule with strata, or a policy, of which every rule is audited and then a
        whole row. Any other callable: ``function(dataset)`` returns one output, a number or anything that is hashed by its value
        (lists and arrays count as tuples); each call draws anew, independently of all others. What it raises ends the audit:
        where errors are outputs, return a text for them.
    pairs : sequence of (dataset, neighbour)
        Neighbouring datasets, whatever that means to the function; both directions are looked at. Of a dpfast mechanism codes of
        categories, k for a value outside the domain; default: all pairs, or for samples those that the table shows to be worst.
        Not for strata and policies.
    epsilon, delta : float
        The claim. Default for a dpfast mechanism: what it was made for; its figure at `delta` if only that is given; delta 0 if
        only epsilon is given. A function needs epsilon.
    samples : int
        Outputs drawn from each dataset of a pair, 100 to 2^40; half of them choose events, half test them. Not used where "auto"
        is exact.
    confidence : float, default 0.99
        Probability that a true claim is not rejected, and that all lower bounds hold, at least; at most 1 - 1e-12.
    rng : Stream, optional
        Randomness of a dpfast mechanism by samples. Default: a fresh stream. A function brings its own.
    method : {"auto", "exact", "samples"}
        "auto": exact for what dpfast makes, samples for a function.
    vectorised : bool, default False
        The function is called as ``function(dataset, size)`` and returns an array of `size` outputs, or of `size` rows, each row
        being one output. It must have independent outputs, too.
    threads : int, optional
        For a dpfast mechanism by samples.

    Returns
    -------
    AuditReport

    Raises
    ------
    ArgumentTypeError, ArgumentError
        Before anything is drawn; also if a function returns what cannot be counted.
    EntropyError

    Notes
    -----
    **Privacy guarantee.** None is given; one is put to the test. Neighbours are those of `pairs`; for dpfast mechanisms
    ``replace_one``. Exact: all figures are rounded outwards, from integers; ``rejected`` is decided exactly for every pair looked
    at. For tables the pairs are those that doubles find, and where ``epsilon_lower < epsilon_upper`` the truth is between.
    Samples: every lower bound is one of Clopper and Pearson [1]_, computed with room for its rounding, for an event that was
    chosen on other samples, as in [2]_; by Bonferroni they hold together with the confidence. Outputs must be independent.
    Vectors of numbers that never come twice are put in order by a score, likewise learnt from the samples that choose.
    **A whole row of a policy.** Its lower bound is that of the worst pair in every column together; by samples the sum of those
    of the columns at delta 0, else the greatest of those that are for no less delta.
    **Cost.** Exact: about 0.3 ms for randomised response; other tables O(k^2) at delta 0 for a true claim, else a few times
    `delta_at`. Samples: 5 to 7 ns a row on one thread for a mechanism of few categories, and whatever the function takes; memory
    does not grow with their number.

    References
    ----------
    .. [1] C. J. Clopper, E. S. Pearson, The use of confidence or fiducial limits, Biometrika 26, 1934.
    .. [2] Ding, Wang, Wang, Zhang, Kifer, Detecting violations of differential privacy, CCS 2018 (arXiv 1805.10277).

    Examples
    --------
    >>> from dpfast import RandomisedResponse, Stream
    >>> mechanism = RandomisedResponse(["car", "bicycle", "train"], epsilon=1.0)
    >>> print(audit(mechanism))
    proved: epsilon 1, delta 0; at delta 0 epsilon is at least 1 and at most 1
    >>> report = audit(mechanism, epsilon=0.9, samples=100_000, method="samples", rng=Stream.insecure(1))
    >>> report.rejected, 0.9 < report.epsilon_lower < 1.0
    (True, True)

    Any function: this one was meant to keep a bit with epsilon 0.5, and keeps it with twice as much.

    >>> import numpy as np
    >>> def answer(bit, size):
    ...     return RandomisedResponse([0, 1], epsilon=1.0).sanitise(np.full(size, bit))
    >>> report = audit(answer, [(0, 1)], epsilon=0.5, samples=20_000, vectorised=True)
    >>> report.rejected, report.event.contains([0, 1]).sum()
    (True, np.int64(1))
    """
    if method not in METHODS:
        raise ArgumentError(f"method must be one of {', '.join(map(repr, METHODS))}")
    confidence = _confidence(confidence)
    check_threads(threads)
    if rng is not None and not isinstance(rng, Stream):
        raise ArgumentTypeError(f"rng must be None or a dpfast.Stream, not {type(rng).__name__}")
    is_ours = isinstance(mechanism, TabledMechanism | Stratified | Rules)
    if not is_ours and not callable(mechanism):
        raise ArgumentTypeError(f"mechanism must be one of dpfast, a policy, or a callable, not {type(mechanism).__name__}")
    is_sampled = method == "samples" or not is_ours
    if is_sampled:
        n = _sample_size(samples)
    if not is_ours:
        if method == "exact":
            raise ArgumentError("the law of a function is not known; it is audited by samples")
        if rng is not None or threads is not None:
            raise ArgumentTypeError("rng and threads are for mechanisms of dpfast; a function brings its own randomness")
        if epsilon is None:
            raise ArgumentTypeError("epsilon is missing: the claim to be put to the test")
        claim = check_epsilon(epsilon), check_delta(0.0 if delta is None else delta)
        counted = count_function(mechanism, _pairs(pairs), n, vectorised=vectorised)
        return sampled_report(counted, epsilon=claim[0], delta=claim[1], samples=n, miss=1 - confidence)
    if vectorised:
        raise ArgumentTypeError("vectorised is for functions; mechanisms of dpfast are drawn in bulk anyway")
    if method == "exact" and samples is not None:
        raise ArgumentError('samples is for method="samples"; an exact audit draws none')
    if not isinstance(mechanism, TabledMechanism) and pairs is not None:
        raise ArgumentTypeError("pairs are for one mechanism; of strata and policies all are looked at")
    stream = (Stream() if rng is None else rng) if is_sampled else None
    run = _Run(n if is_sampled else 0, 1 - confidence, stream, threads)
    if isinstance(mechanism, Rules):
        return run.policy(mechanism, *_policy_claim(mechanism, epsilon, delta))
    if isinstance(mechanism, Stratified):
        return run.strata(mechanism, epsilon, delta)
    return run.mechanism(mechanism, _codes(mechanism, pairs), *_claim(mechanism, epsilon, delta))


class _Run:
    """One audit of what dpfast makes: exact without a stream, else by samples, of which all bounds hold but for `miss`."""

    def __init__(self, samples: int, miss: float, stream: Stream | None, threads: int | None) -> None:
        self.samples, self.miss, self.stream, self.threads = samples, miss, stream, threads

    def share(self, n: int) -> _Run:
        """The same audit for each of n parts, so that all their bounds hold together."""
        return _Run(self.samples, self.miss / max(1, n), self.stream, self.threads)

    def mechanism(
        self, mechanism: TabledMechanism, pairs: Sequence[tuple[int, int]] | None, epsilon: float, delta: float
    ) -> AuditReport:
        if self.stream is None:
            return exact_report(mechanism, pairs, epsilon, delta)
        # both directions are looked at anyway
        looked = worst_pairs(mechanism, epsilon, delta) if pairs is None else pairs
        looked = list({frozenset(pair): pair for pair in looked}.values())
        if not looked:
            raise ArgumentError("a mechanism on a domain of one category has no neighbours to sample")
        counted = count_mechanism(mechanism, looked, self.samples, stream=self.stream, threads=self.threads)
        return sampled_report(counted, epsilon=epsilon, delta=delta, samples=self.samples, miss=self.miss)

    def rule(self, rule: Any) -> AuditReport:
        """A mechanism or strata, at their own claim."""
        return self.strata(rule, None, None) if isinstance(rule, Stratified) else self.mechanism(rule, None, *_claim(rule))

    def strata(self, rule: Stratified, asked: float | None, asked_delta: float | None) -> AuditReport:
        """Each stratum at the claim, or where none was given at its own; the rule is what the worst stratum is."""
        epsilon, delta = _claim(rule, asked, asked_delta)
        is_own = asked is None and asked_delta is None
        share = self.share(len(rule.strata))
        parts, whole = [], []
        for value, mechanism in rule.strata:
            if not isinstance(mechanism, TabledMechanism):
                raise ArgumentTypeError(f"a {type(mechanism).__name__} has no table to audit")
            claim = _claim(mechanism) if is_own else (epsilon, delta)
            report = share.mechanism(mechanism, None, *claim)
            parts.append((f"{rule.by} is {'another value' if value is ... else repr(value)}", report))
            if self.stream is None and claim != (epsilon, delta):
                report = share.mechanism(mechanism, None, epsilon, delta)
            # by samples: a lower bound at less delta, or at less epsilon, is none here
            if report.delta >= delta:
                whole.append(report)
        worst = max(whole, key=lambda report: (report.epsilon_lower, report.delta_lower))
        return AuditReport(
            method=worst.method,
            epsilon=epsilon,
            delta=delta,
            rejected=any(report.rejected for report in [*whole, *(report for _, report in parts)]),
            epsilon_lower=worst.epsilon_lower,
            epsilon_upper=max(report.epsilon_upper for report in whole),
            delta_lower=max((report.delta_lower for report in whole if report.epsilon >= epsilon), default=0.0),
            delta_upper=max(report.delta_upper for report in whole),
            confidence=self._stated(),
            samples=self.samples,
            findings=worst.findings,
            cannot_see=worst.cannot_see,
            parts=tuple(parts),
        )

    def policy(self, rules: Rules, epsilon: float, delta: float) -> AuditReport:
        share = self.share(len(rules.groups))
        parts = tuple((group.label, share.rule(group.rule)) for group in rules.groups)
        reports = [report for _, report in parts]
        rows = rules.rows_per_person
        lower = _together(reports, delta, rows)
        if self.stream is None:
            copies = rows if rows * len(reports) <= MOST_COMPOSED else 1
            lower = max(lower, compose_bounds([_steepest(group.rule, delta) for group in rules.groups] * copies, delta=delta)[0])
        upper = rules.privacy(delta).epsilon if self.stream is None else math.inf
        is_proved = upper <= epsilon
        return AuditReport(
            method="exact" if self.stream is None else "samples",
            epsilon=epsilon,
            delta=delta,
            rejected=lower > epsilon or any(report.rejected for report in reports),
            epsilon_lower=lower,
            epsilon_upper=upper,
            delta_lower=0.0,
            delta_upper=delta if is_proved else 1.0,
            confidence=self._stated(),
            samples=self.samples,
            findings=(),
            cannot_see=reports[0].cannot_see if reports else "",
            parts=parts,
        )

    def _stated(self) -> float:
        return 1.0 if self.stream is None else 1 - self.miss


def _together(reports: Sequence[AuditReport], delta: float, rows: int) -> float:
    """What a person of so many rows needs at least: at delta 0 the losses of the worst pairs of all columns add up."""
    lowest = [report.epsilon_lower if report.delta >= delta else 0.0 for report in reports]
    if delta > 0.0:
        return max(lowest, default=0.0)
    # what a column needs at a delta above 0, it needs at 0 as well
    if math.inf in lowest:
        return math.inf
    return float_below(rows * sum(map(Fraction, lowest), Fraction(0)))


def _steepest(rule: Any, delta: float) -> Any:
    """A mechanism, or the one of the worst stratum: the row that differs may be of any."""
    if not isinstance(rule, Stratified):
        return rule
    return max((mechanism for _, mechanism in rule.strata), key=lambda mechanism: mechanism.epsilon_at(delta))


def _claim(mechanism: Any, epsilon: float | None = None, delta: float | None = None) -> tuple[float, float]:
    if epsilon is not None:
        return check_epsilon(epsilon), check_delta(0.0 if delta is None else delta)
    if delta is not None:
        delta = check_delta(delta)
        return mechanism.epsilon_at(delta), delta
    asked = getattr(mechanism, "epsilon", None)
    return mechanism.epsilon_at(mechanism.delta) if asked is None else asked, mechanism.delta


def _policy_claim(rules: Rules, epsilon: float | None, delta: float | None) -> tuple[float, float]:
    if epsilon is not None:
        return check_epsilon(epsilon), check_delta(0.0 if delta is None else delta)
    if delta is None:
        delta = float.fromhex(rules.certificate()["delta"])
    return rules.privacy(check_delta(delta)).epsilon, delta


def _codes(mechanism: TabledMechanism, pairs: Any) -> list[tuple[int, int]] | None:
    if pairs is None:
        return None
    last = mechanism.domain.size - (mechanism.domain.unknown != "randomise")
    codes = [(integer(i, "each code", minimum=0), integer(j, "each code", minimum=0)) for i, j in _pairs(pairs)]
    if any(max(pair) > last for pair in codes):
        raise ArgumentError(f"pairs hold codes of categories, 0 to {last}")
    if any(i == j for i, j in codes):
        raise ArgumentError("the two codes of a pair must differ")
    return codes


def _pairs(pairs: Any) -> list[tuple[Any, Any]]:
    if not isinstance(pairs, (list, tuple)):
        raise ArgumentTypeError("pairs must be a list of pairs: (dataset, neighbour)")
    if not pairs:
        raise ArgumentError("pairs is empty; give at least one (dataset, neighbour)")
    if not all(isinstance(pair, (list, tuple)) and len(pair) == 2 for pair in pairs):
        raise ArgumentTypeError("each of pairs must be two datasets: (dataset, neighbour)")
    return [(first, second) for first, second in pairs]


def _sample_size(samples: Any) -> int:
    if samples is None:
        raise ArgumentTypeError("samples is missing: the number of outputs to draw from each dataset")
    n = integer(samples, "samples", minimum=LEAST_SAMPLES)
    if n > MOST_SAMPLES:
        raise ArgumentError("samples must be at most 2**40")
    return n


def _confidence(confidence: Any) -> float:
    if isinstance(confidence, bool) or not isinstance(confidence, (int, float)):
        raise ArgumentTypeError("confidence must be a number")
    if not 0.5 <= confidence <= 1 - 1e-12:
        raise ArgumentError("confidence must lie between 0.5 and 1 - 1e-12")
    return float(confidence)
