"""What mechanisms share that are a table of integers: losses and sets of pairs of rows, and the frame of a certificate."""

from __future__ import annotations

from abc import abstractmethod
from typing import TYPE_CHECKING, Any, Final

from dpfast._rounding import integer
from dpfast.errors import ArgumentError
from dpfast.hockey_stick import SufficientSet, pair_losses, pair_sets
from dpfast.mechanism import Mechanism
from dpfast.randomness import STREAM_VERSION

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

__all__ = ["CERTIFICATE_FORMAT", "IntegerMechanism"]

CERTIFICATE_FORMAT: Final = 1


class IntegerMechanism(Mechanism):
    """A mechanism of which each true category has a row of words that sum to 2^64."""

    kind: str

    @abstractmethod
    def _row(self, code: int) -> list[int]:
        """The row of a true category; of code k, the row of values outside the domain."""

    def privacy_loss(self, i: int, j: int) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return what an answer says for category code i against j: the losses ln(P[i, x]/P[j, x]) and their probabilities.

        Parameters
        ----------
        i, j : int
            Codes of true categories; k stands for a value outside the domain where these are randomised.

        Returns
        -------
        losses : array of float64, ascending, equal losses merged; infinite where j cannot give the answer
        probabilities : array of float64, under i

        Raises
        ------
        ArgumentTypeError, ArgumentError

        Examples
        --------
        >>> from dpfast import RandomisedResponse
        >>> losses, probabilities = RandomisedResponse([False, True], epsilon=1.0).privacy_loss(0, 1)
        >>> losses.round(3).tolist(), probabilities.round(3).tolist()
        ([-1.0, 1.0], [0.269, 0.731])
        """
        return pair_losses(*self._rows(i, j))

    def sufficient_sets(self, i: int, j: int) -> list[SufficientSet]:
        """Return the sets of answers that decide privacy between category codes i and j: Theorems 2 and 3 of [1]_.

        Parameters
        ----------
        i, j : int
            Codes of true categories; k stands for a value outside the domain where these are randomised.

        Returns
        -------
        list of SufficientSet
            The answers more likely under i, parted by loss, ascending; of randomised response the answer i alone, or none. At
            delta = 0 it is enough to check each; at delta > 0 their excesses add up:
            sum_s (1 - e^(epsilon - loss_s))+ P_i(s) <= delta.

        Raises
        ------
        ArgumentTypeError, ArgumentError

        References
        ----------
        .. [1] N. Holohan, D. Leith, O. Mason, "Differentially private response mechanisms on categorical data",
           arXiv 1505.07254.

        Examples
        --------
        >>> from dpfast import RandomisedResponse
        >>> RandomisedResponse(["a", "b", "c"], epsilon=1.0).sufficient_sets(1, 2)[0].codes
        (1,)
        """
        return pair_sets(*self._rows(i, j))

    def _rows(self, i: int, j: int) -> tuple[list[int], list[int]]:
        codes = [integer(code, name, minimum=0) for code, name in ((i, "i"), (j, "j"))]
        last = self.domain.size - (self.domain.unknown != "randomise")
        if max(codes) > last:
            raise ArgumentError(f"i and j are codes of categories, 0 to {last}")
        return self._row(codes[0]), self._row(codes[1])

    def _stated(self, **own: Any) -> dict[str, Any]:
        """A certificate: what all of them state, and the entries of this kind."""
        domain = self.domain
        return {
            "format": CERTIFICATE_FORMAT,
            "kind": self.kind,
            "delta": self.delta.hex(),
            "k": domain.size,
            "domain": domain.digest.hex(),
            **own,
            "realised_epsilon": self.epsilon_at(self.delta).hex(),
            "neighbours": "replace_one",
            "unit": "row",
            "null": domain.null_code is not None,
            "unknown": domain.unknown,
            "other": domain.other_code,
            "stream_version": STREAM_VERSION,
        }
