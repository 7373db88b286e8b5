"""What an audit found: figures with their direction of rounding, and in words what it cannot have seen."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    from dpfast.audit._events import Event

__all__ = ["AuditReport", "Finding", "unseen"]

EXACT_UNSEEN = (
    "The table was audited, not the run: whether words are uniform and used once, whether the kernels follow the table (audit it "
    'with method="samples"), who has the key; time, memory and other side channels; what else is released about the same people.'
)


@dataclass(frozen=True)
class Finding:
    """What was found for one ordered pair.

    Attributes
    ----------
    pair : tuple
        The dataset and its neighbour, as they were given: for a dpfast mechanism codes of categories.
    epsilon_lower, epsilon_upper : float
        Bounds of the smallest epsilon that holds at the claimed delta, rounded outwards. Samples bound it from below only: the
        upper one is then infinite.
    delta_lower, delta_upper : float
        Bounds of the smallest delta that holds at the claimed epsilon, likewise; the upper one of samples is 1.
    event : Event
        Outputs that show it.
    """

    pair: tuple[Any, Any] = field(repr=False)
    epsilon_lower: float
    epsilon_upper: float
    delta_lower: float
    delta_upper: float
    event: Event


@dataclass(frozen=True, repr=False)
class AuditReport:
    """What an audit says about the claim that a mechanism is (epsilon, delta)-differentially private.

    Attributes
    ----------
    method : {"exact", "samples"}
    epsilon, delta : float
        The claim.
    rejected : bool
        The claim is false: certainly so if the method is exact, else with the stated confidence. True also if a part has a claim
        of its own that is false.
    epsilon_lower, epsilon_upper : float
        The smallest epsilon that holds at `delta` lies between them; both rounded outwards. Of samples, and of an exact audit of
        given pairs, the upper one is infinite: other pairs may be worse.
    delta_lower, delta_upper : float
        The same for the smallest delta that holds at `epsilon`.
    confidence : float
        Probability, at least, that all lower bounds of this report hold. 1 if exact.
    samples : int
        Outputs drawn from each dataset of a pair; half of them chose the events, half tested them. 0 if exact.
    findings : tuple of Finding
        One for each ordered pair that was looked at.
    cannot_see : str
        What a violation may be that this audit does not show.
    parts : tuple of (str, AuditReport)
        Of a policy a report for each rule, of a stratified rule one for each stratum.

    Examples
    --------
    >>> from dpfast import RandomisedResponse, audit
    >>> report = audit.audit(RandomisedResponse(range(4), epsilon=1.01), epsilon=1.0)
    >>> report.rejected, round(report.epsilon_lower, 6), report.event
    (True, 1.01, Event('code 0', 0.477861, 0.174046))
    """

    method: Literal["exact", "samples"]
    epsilon: float
    delta: float
    rejected: bool
    epsilon_lower: float
    epsilon_upper: float
    delta_lower: float
    delta_upper: float
    confidence: float
    samples: int
    findings: tuple[Finding, ...]
    cannot_see: str
    parts: tuple[tuple[str, AuditReport], ...] = ()

    @property
    def worst(self) -> Finding | None:
        """The finding with the greatest lower bound of epsilon, of equal ones with the greatest of delta; None without pairs."""
        return max(self.findings, key=lambda found: (found.epsilon_lower, found.delta_lower), default=None)

    @property
    def pair(self) -> tuple[Any, Any] | None:
        """The ordered pair of the worst finding."""
        return self.worst.pair if self.worst else None

    @property
    def event(self) -> Event | None:
        """The event of the worst finding."""
        return self.worst.event if self.worst else None

    def to_dict(self) -> dict[str, Any]:
        """Return the report as a dict fit for JSON, without the datasets: numbers, texts and parts.

        Returns
        -------
        dict

        Examples
        --------
        >>> from dpfast import RandomisedResponse, audit
        >>> audit.audit(RandomisedResponse(range(4), epsilon=1.0)).to_dict()["rejected"]
        False
        """
        names = ("method", "epsilon", "delta", "rejected", "epsilon_lower", "epsilon_upper", "delta_lower", "delta_upper")
        return {
            **{name: getattr(self, name) for name in (*names, "confidence", "samples")},
            "verdict": self.verdict,
            "event": self.event.text if self.event else None,
            "cannot_see": self.cannot_see,
            # they cannot see what the whole cannot
            "parts": {label: {**part.to_dict(), "cannot_see": None} for label, part in self.parts},
        }

    @property
    def verdict(self) -> Literal["proved", "refuted", "not refuted"]:
        """Refuted if `rejected`; proved if an upper bound is at most the claim, which no samples show."""
        if self.rejected:
            return "refuted"
        return "proved" if self.epsilon_upper <= self.epsilon or self.delta_upper <= self.delta else "not refuted"

    def __str__(self) -> str:
        sure = f" (confidence {self.confidence:g})" if self.rejected and self.method == "samples" else ""
        verdict = f"{self.verdict}{sure}: epsilon {self.epsilon:.6g}, delta {self.delta:.6g}"
        bound = f"at delta {self.delta:.6g} epsilon is at least {self.epsilon_lower:.6g}"
        if math.isfinite(self.epsilon_upper):
            bound += f" and at most {self.epsilon_upper:.6g}"
        return f"{verdict}; {bound}"

    def __repr__(self) -> str:
        return f"<dpfast.audit.AuditReport: {self}>"


def unseen(samples: int, reach: float, floor: float) -> str:
    """Return what samples cannot show, in words and with the figures that depend on their number."""
    return (
        f"{samples} samples of each dataset: no epsilon above {reach:.3g} can be shown, as it grows with the logarithm of the "
        f"samples; no violation that needs an event less likely than about {floor:.1g}, such as a delta below that; nothing "
        "about other pairs of datasets, nor about differences within a cell of outputs, such as the last bits of a float, what "
        "texts that come once have in common, or how the parts of a vector depend on one another; nothing in time, memory, or "
        "the state and the reuse of a random generator. Calls are taken to be independent."
    )
