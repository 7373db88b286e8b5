"""What every mechanism on one categorical column does: sanitise a column, and estimate from a sanitised one."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any, Literal

from dpfast._rounding import integer
from dpfast._spending import payment, persons_figure
from dpfast.errors import ArgumentError
from dpfast.sanitise import sanitise_column

if TYPE_CHECKING:
    from fractions import Fraction

    import numpy as np
    from numpy.typing import ArrayLike, NDArray

    from dpfast._spending import Charges
    from dpfast.channel import Channel
    from dpfast.domain import Domain
    from dpfast.estimate import Estimate
    from dpfast.randomness import Stream
    from dpfast.sanitise import Law

__all__ = ["Mechanism", "expected_rows"]


class Mechanism(ABC):
    """A mechanism that answers each row of a column on its own, from one word and integers."""

    domain: Domain
    delta: float = 0.0  # what was asked for; mechanisms that know no delta keep this one

    @property
    @abstractmethod
    def law(self) -> Law:
        """The kernels' form of the mechanism."""

    @property
    @abstractmethod
    def digest(self) -> bytes:
        """32 bytes that identify the mechanism; noise is bound to them."""

    @property
    @abstractmethod
    def channel(self) -> Channel:
        """What the mechanism does to a row, as estimation needs it."""

    @abstractmethod
    def epsilon_at(self, delta: float = 0.0) -> float:
        """Return the smallest epsilon that the integer table satisfies at `delta`, rounded up."""

    @abstractmethod
    def delta_at(self, epsilon: float) -> float:
        """Return the smallest delta that the integer table satisfies at `epsilon`, rounded up."""

    @abstractmethod
    def expected_changes(self, n_rows: int) -> float:
        """Return the expected number of rows whose category changes."""

    @abstractmethod
    def certificate(self) -> dict[str, Any]:
        """Return what anyone needs to check the privacy of this mechanism, without data: a dict fit for JSON."""

    def sanitise(
        self,
        column: Any,
        *,
        rng: Stream | None = None,
        ids: Any = None,
        column_name: str | tuple[str, ...] | None = None,
        threads: int | None = None,
        out: Any = None,
        ledger: Charges | None = None,
    ) -> Any:
        """Randomise every row of a column.

        Parameters
        ----------
        column : ndarray, pyarrow Array or ChunkedArray, pandas or polars Series, shape (n_rows,)
            Values of the domain: integers, text, booleans, bytes, or a dictionary of them. Read-only memory, memory maps and
            slices are fine; not modified. Anything else with ``__arrow_c_array__`` or ``__arrow_c_stream__`` is read as Arrow's.
            The name of a Series is not taken for `column_name`.
        rng : Stream, optional
            Default: a fresh stream, new entropy for this call.
        ids : ndarray, pyarrow array, Series, or tuple of them, shape (n_rows,), optional
            Public identifiers, unique within a table: noise becomes **permanent**, a function of key, context, column,
            mechanism, identifier and true value. Releasing unchanged rows again then costs nothing; each further distinct
            value of an identifier costs epsilon again, and that it changed is visible. Answers that stay let a row be followed
            from release to release, and the errors of differences are others: see ``docs/permanent_noise.md`` and
            `estimate_change`. Needs a keyed stream.
        column_name : str, required with a keyed stream
            Keeps the noise of two columns apart.
        threads : int, optional
            Default: the processors this process may use. The result does not depend on it.
        out : ndarray, optional
            Where a numpy column's answers go; may be `column` itself. After an error its content is not defined.
        ledger : Ledger, optional
            Is charged once, before anything is drawn, with what the call costs a person; a `LedgerError` if it has no room.

        Returns
        -------
        ndarray, pyarrow Array or ChunkedArray, pandas or polars Series, shape (n_rows,)
            Same container and logical type; a pandas Series keeps its index and name, a polars one its name. A dictionary or
            categorical has the declared domain, in order, with the narrowest index; a polars Categorical, whose categories
            are those of the whole process, becomes an Enum. Answers to bins are categoricals.

        Raises
        ------
        ArgumentTypeError, ArgumentError, IdError, LedgerError
            Before any value is read or drawn.
        OutsideDomainError
            A value outside the domain under ``unknown="error"``.
        CorruptDataError
            A dictionary index outside its dictionary.
        EntropyError

        Notes
        -----
        **Privacy guarantee.** One release is (epsilon, delta)-private, as the mechanism states, for neighbours that differ in
        one row (``replace_one``); the number of rows is public. Every call spends anew, except under ids as said.
        **Exactness.** The law is the integer table of the mechanism, whatever the processor, the threads or the pieces.
        **Cost.** O(n_rows); about 0.5 ns a row for uint8 codes on one thread, a good third of it AES-256.

        Examples
        --------
        >>> import numpy as np
        >>> from dpfast import RandomisedResponse, Stream
        >>> mechanism = RandomisedResponse(range(4), epsilon=1.0)
        >>> column = np.zeros(8, np.uint8)
        >>> mechanism.sanitise(column, rng=Stream.insecure(7)).dtype
        dtype('uint8')
        """
        return sanitise_column(
            self.domain,
            self.law,
            self.digest,
            column,
            rng=rng,
            ids=ids,
            column_name=column_name,
            threads=threads,
            out=out,
            pay=payment(ledger, column_name, self.digest, lambda rows: persons_figure([self], rows)),
        )

    def sanitise_counts(
        self,
        counts: ArrayLike,
        *,
        rng: Stream | None = None,
        column_name: str | tuple[str, ...] | None = None,
        ledger: Charges | None = None,
    ) -> NDArray[np.int64]:
        """Draw the histogram of a sanitised column from the true histogram, without the rows.

        Parameters
        ----------
        counts : array of int, shape (k,)
            How many rows hold each category, in the order of the domain. Not modified.
        rng : Stream, optional
            Default: a fresh stream, new entropy for this call.
        column_name : str, required with a keyed stream
            Keeps the noise of two columns apart.
        ledger : Ledger, optional
            As for `sanitise`.

        Returns
        -------
        ndarray of int64, shape (k,)
            How many rows answer each category; the sum is that of `counts`. What `estimate_counts` takes.

        Raises
        ------
        ArgumentTypeError, ArgumentError
            Before anything is drawn: `counts` are not integers, are negative, not one for each category, or more than 2^49.
        LedgerError, EntropyError

        Notes
        -----
        **Privacy guarantee.** That of the column sanitised row by row and then counted: (epsilon, delta), as the mechanism
        states, for neighbours that differ in one row (``replace_one``); the number of rows is public. Every call spends anew,
        also a second one for the same rows or for a column that `sanitise` answered. The draws of a keyed stream are not those
        of its rows: the histogram is another one than that of `sanitise`, under the same law.
        **Exactness.** The law is the integer table of the mechanism; bits are counted, no float takes part.
        **Cost.** For randomised response about log2 k + 2 random bits a row, a tenth of a second for 10^9 rows of 10
        categories; for other tables as many for each row, and O(k) steps for each category that occurs.

        Examples
        --------
        >>> from dpfast import RandomisedResponse, Stream
        >>> mechanism = RandomisedResponse(["car", "bicycle", "train"], epsilon=1.0)
        >>> answers = mechanism.sanitise_counts([600_000, 300_000, 100_000], rng=Stream.insecure(1))
        >>> int(answers.sum()), mechanism.estimate_counts(answers).frequency.round(2).tolist()
        (1000000, [0.6, 0.3, 0.1])
        """
        from dpfast.histogram import sanitise_counts

        return sanitise_counts(self, counts, rng=rng, column_name=column_name, ledger=ledger)

    def estimate(
        self,
        sanitised_column: Any,
        *,
        method: Literal["inverse", "mle", "em"] = "inverse",
        interval: Literal["wilson", "clopper_pearson"] = "wilson",
        population: bool = True,
        confidence: float = 0.95,
        simultaneous: bool = False,
        tolerance: float = 1e-9,
        max_iterations: int = 10_000,
        weights: Any = None,
        by: Any = None,
        keys: Any = None,
    ) -> Any:
        """Estimate the true frequencies from a sanitised column; costs no privacy.

        Parameters
        ----------
        sanitised_column : ndarray, pyarrow Array or ChunkedArray, pandas or polars Series, shape (n_rows,)
            What `sanitise` returned.
        method : {"inverse", "mle", "em"}
            "inverse": the unbiased estimator, the inverse of the matrix applied to the answered shares; entries may be
            negative. "mle": the maximum of the likelihood among shares that are not, in closed form for randomised response.
            "em": the same by expectation maximisation.
        interval : {"wilson", "clopper_pearson"}
            Score intervals, whose coverage is near the confidence, or (randomised response only) ones that cover at least with
            it. They belong to the inverse estimate, whatever the method.
        population : bool, default True
            True: uncertainty about the population the rows were drawn from. False: about these rows only.
        confidence : float, default 0.95
        simultaneous : bool, default False
            Whether all k intervals hold together (Bonferroni).
        tolerance, max_iterations
            Of expectation maximisation: the log-likelihood per row is certified to be within the tolerance of its maximum.
        weights : array_like of float, shape (n_rows,), optional
            Public weight of each row, >= 0: shares are then shares of weight.
        by : column or tuple of columns, shape (n_rows,), optional
            Public columns beside the sanitised one: one estimate for each of `keys`.
        keys : list, required with `by`
            The keys to answer, each of which gets an answer; tuples where there are several columns. Rows of other keys are
            left out.

        Returns
        -------
        Estimate
            With `by`, a mapping from keys to estimates (`dpfast.estimate.Grouped`).

        Raises
        ------
        ArgumentTypeError, ArgumentError
        OutsideDomainError
            The column cannot be an answer of this mechanism.

        Warns
        -----
        EstimateWarning
            If nothing can be estimated: no rows (of a key), or answers that do not depend on the data.
        ConvergenceWarning
            If expectation maximisation stopped before its tolerance.

        Notes
        -----
        Post-processing: no privacy cost. Cost: O(n_rows), and that of `dpfast.estimate.estimate_counts` for each key.

        Examples
        --------
        >>> import numpy as np
        >>> from dpfast import RandomisedResponse, Stream
        >>> mechanism = RandomisedResponse(["a", "b"], epsilon=3.0)
        >>> answers = mechanism.sanitise(np.repeat(["a", "b"], [900, 100]), rng=Stream.insecure(1))
        >>> low, high = mechanism.estimate(answers).interval[0]
        >>> bool(low < 0.9 < high)
        True
        """
        from dpfast.estimate import Options, estimate_column

        options = Options(method, interval, population, confidence, simultaneous, tolerance, max_iterations)
        return estimate_column(sanitised_column, self.domain, self.channel, options=options, weights=weights, by=by, keys=keys)

    def estimate_counts(
        self,
        counts: ArrayLike,
        *,
        method: Literal["inverse", "mle", "em"] = "inverse",
        interval: Literal["wilson", "clopper_pearson"] = "wilson",
        population: bool = True,
        confidence: float = 0.95,
        simultaneous: bool = False,
        tolerance: float = 1e-9,
        max_iterations: int = 10_000,
    ) -> Estimate:
        """Estimate the true frequencies from the counts of a sanitised column.

        Parameters
        ----------
        counts : array of int, shape (k,)
            How often each category was answered, in the order of the domain.
        method, interval, population, confidence, simultaneous, tolerance, max_iterations
            As for `estimate`. For randomised response "inverse" is (c_j/n - p)/g with g = 1 - k p.

        Returns
        -------
        Estimate

        Raises
        ------
        ArgumentTypeError, ArgumentError

        Examples
        --------
        >>> from dpfast import RandomisedResponse
        >>> mechanism = RandomisedResponse(range(4), epsilon=1.0)
        >>> mechanism.estimate_counts([520, 260, 130, 90]).frequency.round(4).tolist()
        [1.1485, 0.2833, -0.1493, -0.2825]
        """
        from dpfast.estimate import estimate_counts

        return estimate_counts(
            counts,
            self.channel,
            values=self.domain.values,
            method=method,
            interval=interval,
            population=population,
            confidence=confidence,
            simultaneous=simultaneous,
            tolerance=tolerance,
            max_iterations=max_iterations,
        )

    def posterior(self, prior: ArrayLike) -> NDArray[np.float64]:
        """Return what an answer says about its row: the probability of each true category.

        Parameters
        ----------
        prior : array_like of float, shape (k,)
            Probability of each category before the answer is seen; adds up to 1.

        Returns
        -------
        ndarray of float64, shape (k, k)
            Entry [x, j] is the probability that the truth is j given the answer x. Rows add up to 1.

        Raises
        ------
        ArgumentTypeError, ArgumentError
            If `prior` is not a law on the categories, or k is above 4096.

        Examples
        --------
        >>> from dpfast import RandomisedResponse
        >>> RandomisedResponse(["no", "yes"], epsilon=1.0).posterior([0.9, 0.1]).round(4).tolist()
        [[0.9607, 0.0393], [0.768, 0.232]]
        """
        from dpfast.estimate import posterior

        return posterior(self.channel, prior)


def expected_rows(n_rows: int, share: Fraction) -> float:
    """The expected number among `n_rows` rows of those that happen with probability `share`."""
    count = integer(n_rows, "n_rows", minimum=0)
    try:
        return float(count * share)
    except OverflowError:
        raise ArgumentError("n_rows is larger than any table: the expected changes exceed the largest double") from None
