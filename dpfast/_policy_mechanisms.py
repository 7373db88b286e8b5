"""From the keys of a policy file to a mechanism: one function a kind.

A mechanism loads when a file asks for it. Each function takes the domain, the entry and the folder of the file, and may rely on
`Kind.required`; what else is wrong it says by a `DpfastError`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from dpfast._text import read_json
from dpfast.domain import Domain
from dpfast.errors import ArgumentError, FileError, MissingPackageError
from dpfast.mechanism import Mechanism
from dpfast.response import RandomisedResponse

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["DEFAULT_KIND", "KINDS", "Kind"]


@dataclass(frozen=True)
class Kind:
    """A kind of mechanism, as a policy file names it.

    Attributes
    ----------
    required, optional : tuple of str
        The keys that it takes.
    make : callable
        ``make(domain, entry, folder)`` returns the mechanism.
    """

    required: tuple[str, ...]
    optional: tuple[str, ...]
    make: Callable[[Domain, Mapping[str, Any], Path], Mechanism]

    @property
    def keys(self) -> tuple[str, ...]:
        """All keys that it takes."""
        return self.required + self.optional


def _randomised_response(domain: Domain, entry: Mapping[str, Any], folder: Path) -> Mechanism:
    return RandomisedResponse(domain, epsilon=entry["epsilon"], delta=entry.get("delta", 0.0))


def _exponential(domain: Domain, entry: Mapping[str, Any], folder: Path) -> Mechanism:
    exponential = _class("dpfast.exponential", "ExponentialResponse")
    return _mechanism(exponential(domain, distance=_table(entry["distance"], "distance"), epsilon=entry["epsilon"]))


def _matrix(domain: Domain, entry: Mapping[str, Any], folder: Path) -> Mechanism:
    matrix = _class("dpfast.matrix", "MatrixResponse")
    return _mechanism(matrix(domain, _read_matrix(entry["matrix_file"], folder)))


def _optimal(domain: Domain, entry: Mapping[str, Any], folder: Path) -> Mechanism:
    optimal = _class("dpfast.optimal", "optimal_response")
    given = {key: entry[key] for key in ("delta", "prior", "objective") if key in entry}
    return _mechanism(optimal(domain, loss=_table(entry["loss"], "loss"), epsilon=entry["epsilon"], **given))


def _class(module: str, name: str) -> Callable[..., object]:
    import importlib

    try:
        found: Callable[..., object] = getattr(importlib.import_module(module), name)
    except ModuleNotFoundError as error:
        raise MissingPackageError(f"this mechanism needs {error.name}, which is not installed") from None
    return found


def _mechanism(made: object) -> Mechanism:
    assert isinstance(made, Mechanism)
    return made


def _table(value: object, key: str) -> object:
    """A name as it is; rows of numbers as an array."""
    return value if isinstance(value, str) else _array(value, key)


def _array(value: object, key: str) -> NDArray[np.float64]:
    rows = value if isinstance(value, list) else []
    square = bool(rows) and all(isinstance(row, list) and len(row) == len(rows) for row in rows)
    if not square or not all(type(number) in (int, float) for row in rows for number in row):
        raise ArgumentError(f"{key} must be a name or a square list of rows of numbers")
    try:
        return np.array(rows, np.float64)
    except OverflowError:
        raise ArgumentError(f"{key} holds a number beyond the largest double") from None


def _read_matrix(name: object, folder: Path) -> NDArray[np.float64]:
    """Rows of probabilities: lines of comma-separated numbers, a JSON list of lists, or a numpy file."""
    if not isinstance(name, str):
        raise ArgumentError("matrix_file must be the path of a .csv, .json or .npy file")
    path = folder / name
    try:
        if path.suffix.lower() == ".npy":
            found: Any = _read_npy(path)
        elif path.suffix.lower() == ".json":
            found = read_json(path.read_text("utf-8"))
        else:
            lines = path.read_text("utf-8").split("\n")
            found = [[float(number) for number in line.split(",")] for line in lines if line.strip()]
    except OSError as error:
        raise FileError(f"cannot read matrix_file {name!r}: {error.strerror}") from None
    except ValueError:  # not numbers, not JSON, not UTF-8, not a numpy file
        raise ArgumentError(f"matrix_file {name!r} does not hold rows of numbers") from None
    return _array(found, f"matrix_file {name!r}")


def _read_npy(path: Path) -> Any:
    """The content of a numpy file; a ValueError if it is none."""
    try:
        return np.lib.format.open_memmap(path, mode="r").tolist()  # it looks at the size of the file before it makes room
    except OSError:
        raise
    except Exception:  # a header is Python source, and so are the errors in it
        raise ValueError from None


DEFAULT_KIND = "randomised_response"
KINDS: dict[str, Kind] = {
    "randomised_response": Kind(("epsilon",), ("delta",), _randomised_response),
    "exponential": Kind(("epsilon", "distance"), (), _exponential),
    "matrix": Kind(("matrix_file",), (), _matrix),
    "optimal": Kind(("epsilon", "loss"), ("delta", "prior", "objective"), _optimal),
}
