"""A release explained to people who did not make it: one page of HTML from a policy and a sanitised file."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import PurePath
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from dpfast import plots
from dpfast._release import cell_counts, open_questions, release_certificate, release_rows, verify_release
from dpfast._report_page import Page
from dpfast._report_words import (
    NOT_PROMISED,
    as_percent,
    belief,
    factor,
    how_answered,
    noise,
    number,
    strength,
)
from dpfast._sources.source import open_source
from dpfast._text import printable, printable_cell
from dpfast.errors import ArgumentTypeError, CertificateError
from dpfast.policy import Policy

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from dpfast._figures import Figures
    from dpfast._policy_figures import ColumnPlan
    from dpfast.privacy import Privacy

__all__ = ["Explanation", "explain"]

SHOWN: Final = 30  # categories of a column on the page
BEFORE: Final = (0.01, 0.1, 0.5)  # beliefs that are followed


class Explanation(NamedTuple):
    """A release, explained.

    Attributes
    ----------
    html : str
        The page.
    problem : str or None
        Why the certificate does not verify; None where it does.
    """

    html: str
    problem: str | None


def explain(
    policy: Policy,
    source: Any,
    *,
    title: str | None = None,
    confidence: float = 0.95,
    population: bool = True,
    allow_insecure: bool = False,
) -> Explanation:
    """Explain a release: what was done to it, what it promises and what not, and what it says; as one page of HTML.

    Parameters
    ----------
    policy : Policy
        The policy that made it.
    source : path
        The sanitised file, folder or pattern: Parquet, CSV or Arrow IPC.
    title : str, optional
        Default: the name of the file.
    confidence : float, default 0.95
        Of the intervals.
    population : bool, default True
        Whether errors and intervals speak of the population behind the rows or of the rows themselves, as in `Policy.estimate`.
    allow_insecure : bool, default False
        Whether the certificate of a release of ``Stream.insecure`` passes.

    Returns
    -------
    Explanation
        Its page loads nothing and runs nothing; the same text for the same release.

    Raises
    ------
    ArgumentError, ArgumentTypeError, PolicyError
    OutsideDomainError
        A cell is no value that the policy declares: this is no release of this policy.
    FileError, CorruptDataError
    MissingPackageError
        matplotlib is not installed.

    Notes
    -----
    Everything on the page is computed from the policy and the sanitised file, so it costs no privacy and may be published with
    them. The number of rows is on it, which is public under ``replace_one``. A certificate that does not verify is no error: the
    page says so in red.

    Examples
    --------
    >>> import pyarrow as pa, pyarrow.parquet as pq
    >>> from dpfast import Policy, RandomisedResponse, sanitise_file
    >>> from dpfast.report import explain
    >>> pq.write_table(pa.table({"smoker": ["no", "yes"] * 500}), "people.parquet")
    >>> policy = Policy({"smoker": RandomisedResponse(["no", "yes"], epsilon=1.0)})
    >>> _ = sanitise_file("people.parquet", "released.parquet", policy)
    >>> explained = explain(policy, "released.parquet")
    >>> explained.problem is None, explained.html.startswith("<!DOCTYPE html>")
    (True, True)
    """
    if not isinstance(policy, Policy):
        raise ArgumentTypeError(f"policy must be a Policy, not {type(policy).__name__}")
    release = open_source(source)
    counts = {part.label: (part.mechanism, found) for part, found in cell_counts(policy, release).items()}
    n_rows = release_rows(release)
    page = Page(_title(source) if title is None else title)
    page.paragraph(
        "This table was changed at random, cell by cell, before it was released, so that no cell can be held against a person."
    )
    certificate, problem = _certificate(page, policy, release, allow_insecure)
    _released(page, policy, release.schema.names, n_rows)
    _promise(page, policy)
    _columns(page, policy, max(n_rows, 1))
    page.heading("What the released table says")
    page.paragraph(
        "The shares below undo the noise on average. They are computed from the released table and the policy alone, and tell "
        "nothing that these do not tell. What is called sanitised are the released cells as they stand, not the true shares."
    )
    for label, (mechanism, found) in counts.items():
        estimate = mechanism.estimate_counts(found, confidence=confidence, population=population)
        _estimates(page, label, estimate, found)
    _limits(page, policy, certificate)
    return Explanation(page.html(), problem)


def _title(source: Any) -> str:
    name = os.fspath(source) if isinstance(source, (str, os.PathLike)) else "release"
    return f"Privacy report: {printable(PurePath(str(name)).name)}"


def _certificate(page: Page, policy: Policy, release: Any, allow_insecure: bool) -> tuple[dict[str, Any], str | None]:
    """Say whether the certificate holds; return it, or nothing where there is none to go by, and what is wrong."""
    try:
        certificate = release_certificate(release)
        privacy = verify_release(certificate, policy, allow_insecure=allow_insecure)
    except CertificateError as error:
        page.box(
            "bad",
            f"The certificate of this release does NOT verify: {error}. The figures below are those of the policy, and nothing "
            "shows that it made this table.",
        )
        return {}, str(error)
    page.box(
        "good",
        f"The certificate of this release verifies: epsilon {number(privacy.epsilon)}, delta {number(privacy.delta)}. Its "
        "figures were computed again from the integers that decide the cells, it is of this policy, and every cell is a value "
        "that the policy declares.",
    )
    page.paragraph(noise(certificate))
    if certificate.get("randomness") == "insecure":
        page.box("bad", "The noise came from an insecure seed: whoever guesses the seed can undo it. Do not publish this table.")
    return certificate, None


def _released(page: Page, policy: Policy, names: list[str], n_rows: int) -> None:
    sanitised = [name for name in names if name in policy.sanitised]
    public = [name for name in names if name not in policy.sanitised]
    dropped = [name for name, rule in policy.columns.items() if rule == "drop"]
    page.heading("What was released")
    points = [f"{n_rows:,} rows, in the order of the original. The number of rows is taken to be known."]
    points.append(f"Changed at random, cell by cell: {_listed(sanitised)}.")
    if public:
        points.append(f"Published as they are, and not protected: {_listed(public)}.")
    if dropped:
        points.append(f"Left out: {_listed(dropped)}.")
    if policy.unlisted == "drop":
        points.append("Left out, if there were any: all other columns.")
    page.points(points)


def _promise(page: Page, policy: Policy) -> None:
    rows = policy.rows_per_person
    stated = _stated(policy)
    pure = policy.privacy(0.0).epsilon
    person = "one row" if rows == 1 else f"the up to {rows} rows of one person"
    page.heading("What is promised")
    page.paragraph(
        f"Take two tables of equally many rows that differ in {person} alone and agree on every column published as it is. No "
        "released table, and no set of them, tells the two well apart: it is at most "
        f"e^{number(stated.epsilon)} = {factor(stated.epsilon)} times as likely from the one as from the other"
        + (f", plus {number(stated.delta)}." if stated.delta else ".")
        + " This is (epsilon, delta) differential privacy, with `neighbours = replace_one` and a row as the unit."
    )
    page.paragraph(
        f"The policy reckons with {'one row' if rows == 1 else f'{rows} rows at most'} of the same person. That this is so, its "
        "author vouches for; somebody with more rows is protected less."
    )
    page.box("note", strength(stated.epsilon))
    page.heading("What an attacker can learn", level=3)
    page.paragraph(
        "Suppose that somebody knows everything about all other people and has a guess about this one. The table shows how sure "
        "of the guess they can be at most after the release, whatever it shows; rounded up."
    )
    heads = ["about", *(f"before: {as_percent(prior)}" for prior in BEFORE)]
    lines = [[f"a whole person ({person})", *(belief(prior, pure) for prior in BEFORE)]]
    for group in policy.groups:
        own = group.rule.epsilon_at(0.0)
        lines.append([f"{group.label}, of one row, all else known", *(belief(prior, own) for prior in BEFORE)])
    page.table(heads, lines)


def _stated(policy: Policy) -> Privacy:
    return policy.privacy(float.fromhex(policy.certificate()["delta"]))


def _columns(page: Page, policy: Policy, n_rows: int) -> None:
    plans = policy.describe(n_rows)
    page.heading("How each column was answered")
    page.table(
        ["column", "how", "values", "epsilon", "delta", "keeps its value", "error of a share"],
        [
            [
                plan.column,
                how_answered(group, plan),
                str(plan.size),
                number(plan.epsilon_realised),
                number(plan.delta),
                *_kept(plan),
            ]
            for group, plan in zip(policy.groups, plans, strict=True)
        ],
        labels=2,
        caption="Epsilon is computed from the integers that decide the cells, rounded up. The error is the smallest standard "
        "error of an estimated share.",
    )
    page.picture(
        plots.privacy_error(policy, n_rows),
        says="What privacy costs: the standard error of an estimated share (lower is more accurate) against epsilon (left is "
        "more private). Lines: randomised response over as many values; points: this policy.",
    )


def _kept(plan: ColumnPlan) -> Iterator[str]:
    yield as_percent(plan.keep_probability)
    yield f"{100 * plan.standard_error:.2g} %"


def _estimates(page: Page, label: str, estimate: Figures, counts: NDArray[Any]) -> None:
    level = f"{100 * estimate.confidence:g} %"
    raw = counts / max(counts.sum(), 1)
    shares, errors = estimate.frequency.ravel(), estimate.standard_error.ravel()
    ends = estimate.interval.reshape(-1, 2)
    largest = sorted(sorted(range(shares.size), key=lambda place: -shares[place])[:SHOWN])
    labels = list(estimate.labels())
    page.heading(label, level=3)
    page.picture(
        plots.estimate(estimate, counts, most=SHOWN),
        says=f"Estimated shares of {label} with {level} intervals; crosses: the sanitised cells as they stand.",
    )
    about = "the population that the rows were drawn from" if estimate.population else "these rows"
    left = f" The {SHOWN} largest of {shares.size} are shown." if shares.size > SHOWN else ""
    page.table(
        ["value", "sanitised", "estimated", "standard error", f"{level} interval"],
        [
            [
                printable_cell(labels[place]),
                as_percent(raw[place]),
                as_percent(shares[place]),
                as_percent(errors[place]),
                f"{as_percent(ends[place, 0])} to {as_percent(ends[place, 1])}",
            ]
            for place in largest
        ],
        caption=f"Errors and intervals are about {about}.{left}",
    )


def _limits(page: Page, policy: Policy, certificate: dict[str, Any]) -> None:
    page.heading("What is not promised")
    page.points(NOT_PROMISED)
    page.heading("What a file cannot show of itself", level=3)
    page.points(f"{question[0].upper()}{question[1:]}." for question in open_questions(certificate, cells_checked=True))
    page.heading("How to check this page")
    page.paragraph(
        "`dpfast verify FILE --policy POLICY` checks the certificate and every cell; `dpfast estimate FILE --policy POLICY` "
        "gives the shares; `dpfast plan POLICY` shows the policy. None needs the original data. Who compares this digest "
        f"with the author of the policy holds the same one: `{policy.digest.hex()}`."
    )


def _listed(names: list[str]) -> str:
    return ", ".join(f"`{printable(name)}`" for name in names) or "nothing"
