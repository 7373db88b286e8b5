"""All public names, found by looking: functions, classes, their public methods, and the verbs of the command."""

from __future__ import annotations

import argparse
import importlib
import inspect
from collections.abc import Iterator
from types import ModuleType
from typing import Any

import dpfast
from dpfast import cli, errors

__all__ = ["calls", "verbs"]

# Public modules that no list of names shows: users import them by their path.
BY_PATH = ("budget", "change", "crosstab", "duff.utility", "etl.ledger", "etl.sources", "etl.spark", "privacy", "report")


def calls(package: ModuleType = dpfast) -> dict[str, Any]:
    """Everything public that can be called, by name; a method by the class that defines it, so that heirs count once."""
    found: dict[str, Any] = {}
    seen: set[int] = set()
    for module in (package, *(importlib.import_module(f"dpfast.{name}") for name in BY_PATH)):
        for name, value in _names(module, module.__name__.removeprefix("dpfast").lstrip(".")):
            if id(value) in seen or value in (getattr(errors, error) for error in errors.__all__):
                continue
            seen.add(id(value))
            found[name] = value
            if isinstance(value, type):
                found.update(_methods(value))
    return found


def _names(module: ModuleType, path: str) -> Iterator[tuple[str, Any]]:
    for name in getattr(module, "__all__", ()):
        value, dotted = getattr(module, name), f"{path}.{name}".lstrip(".")
        if inspect.ismodule(value):
            yield from _names(value, dotted)
        elif callable(value):
            yield dotted, value


def _methods(cls: type) -> dict[str, Any]:
    ours = [base for base in cls.__mro__ if base.__module__.startswith("dpfast")]
    return {
        f"{base.__name__}.{name}": member
        for base in ours
        for name, member in vars(base).items()
        if (not name.startswith("_") or name == "__call__")
        and (inspect.isroutine(member) or isinstance(member, (classmethod, staticmethod)))
    }


def verbs() -> list[str]:
    """The verbs of the command, those of `ledger` one by one."""
    parser, _ = cli._parser()
    return sorted(_verbs(parser, "dpfast"))


def _verbs(parser: argparse.ArgumentParser, path: str) -> Iterator[str]:
    inner = [action for action in parser._actions if isinstance(action, argparse._SubParsersAction)]
    if not inner:
        yield path
    for action in inner:
        for name, verb in action.choices.items():
            yield from _verbs(verb, f"{path} {name}")
