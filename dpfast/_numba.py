"""numba, imported when something is compiled, and what its errors say to the person who wrote the function."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

from dpfast.errors import ArgumentTypeError, MissingPackageError

__all__ = ["check_function", "first_lines", "need_numba"]


def need_numba(what: str) -> Any:
    """Return the numba module, or say what needs it."""
    try:
        import numba
    except ImportError:
        raise MissingPackageError(f"{what} needs numba: pip install 'dpfast[numba]'; or pass compiled=False") from None
    return numba


def check_function(function: object, what: str) -> Callable[..., Any]:
    """Return a plain Python function of at least one named argument."""
    if not inspect.isfunction(function):
        raise ArgumentTypeError(f"{what} is a plain Python function, not {type(function).__name__}; it is compiled here")
    parameters = inspect.signature(function).parameters.values()
    if any(parameter.kind is not inspect.Parameter.POSITIONAL_OR_KEYWORD for parameter in parameters):
        raise ArgumentTypeError(f"{what} takes named arguments only: no *args, no keyword-only ones")
    if not parameters:
        raise ArgumentTypeError(f"{what} takes at least one argument")
    return function


def first_lines(error: Exception) -> str:
    """What numba says first; the rest is a listing."""
    return " ".join(line.strip() for line in str(error).strip().splitlines()[:3])
