"""The public names: they exist, are documented where `import dpfast` shows them, and nothing else is."""

from __future__ import annotations

import copy
import importlib
import inspect
import pickle
from importlib import metadata

import pytest

import dpfast
from dpfast import errors
from dpfast.etl import spark

MODULES = {"audit", "baselines", "duff", "etl", "graph", "histogram", "kernels", "plots", "privacy", "reference", "report"}
EXPECTED = {
    "ArgumentError",
    "ArgumentTypeError",
    "CorruptDataError",
    "Domain",
    "DomainError",
    "DpfastError",
    "EntropyError",
    "Estimate",
    "FileError",
    "IdError",
    "InfeasibleError",
    "Ledger",
    "LedgerError",
    "MissingPackageError",
    "OutsideDomainError",
    "Policy",
    "PolicyError",
    "Privacy",
    "RandomisedResponse",
    "Report",
    "Stratified",
    "Stream",
    "ExponentialResponse",
    "MatrixResponse",
    "optimal_response",
    "mean",
    "median",
    "mode",
    "count_triangles",
    "quantiles",
    "quantile",
    "race",
    "race_slack",
    "CertificateError",
    "SolverError",
    "ViolationError",
    "verify",
    "compose",
    "compose_bounds",
    "composed_delta",
    "estimate_change",
    "sanitise_file",
    "show_config",
}


def test_the_list_of_names_is_this_one() -> None:
    # A name added or removed on purpose is added or removed here too, and in the changelog.
    assert set(dpfast.__all__) == EXPECTED | MODULES | {"__version__"}
    assert list(dpfast.__all__) == sorted(dpfast.__all__)


@pytest.mark.parametrize("name", sorted(EXPECTED | MODULES))
def test_each_name_is_there_and_listed(name: str) -> None:
    assert callable(getattr(dpfast, name)) == (name in EXPECTED)
    assert name in dir(dpfast)


@pytest.mark.parametrize(
    "name",
    [
        "errors",
        "privacy",
        "randomness",
        "domain",
        "response",
        "matrix",
        "exponential",
        "optimal",
        "estimate",
        "histogram",
        "policy",
        "etl",
        "composition",
        "budget",
        "audit",
        "duff",
        "duff.utility",
        "baselines",
        "duff.selection",
        "duff.joint",
        "duff.laplace",
        "duff.mean",
        "duff.mode",
        "duff.triangles",
        "duff.race",
        "graph",
        "plots",
    ],
)
def test_modules_export_what_they_say(name: str) -> None:
    module = importlib.import_module(f"dpfast.{name}")
    for public in module.__all__:
        assert hasattr(module, public), public


@pytest.mark.parametrize(
    "name", ["audit", "baselines", "duff", "graph", "graph.families", "histogram", "kernels", "plots", "privacy"]
)
def test_completion_offers_what_is_public(name: str) -> None:
    module = importlib.import_module(f"dpfast.{name}")
    assert dir(module) == sorted(module.__all__)


def functions() -> dict[str, inspect.Signature]:
    """Signatures of all public functions and methods, by name."""
    found = {}
    for home in (dpfast, *(getattr(dpfast, name) for name in sorted(MODULES - {"reference"})), dpfast.graph.families, spark):
        for name in home.__all__:
            value = getattr(home, name)
            if inspect.isclass(value):
                methods = inspect.getmembers(value, inspect.isfunction)
                found |= {f"{value.__qualname__}.{label}": inspect.signature(one) for label, one in methods}
            elif inspect.isfunction(value):
                found[f"{value.__module__}.{name}"] = inspect.signature(value)
    return found


def test_keywords_stand_in_one_order_and_mean_one_default() -> None:
    order = ("rng", "column_name", "threads", "ledger")
    known = functions()
    assert len(known) > 100
    for name, signature in known.items():
        common = [keyword for keyword in signature.parameters if keyword in order]
        if "context" not in signature.parameters:  # a job has its key instead
            assert common == sorted(common, key=order.index), name
        assert all(signature.parameters[keyword].kind is inspect.Parameter.KEYWORD_ONLY for keyword in common), name
        neighbours = signature.parameters.get("neighbours")
        if neighbours is not None and not name.startswith("Privacy."):
            assert neighbours.default == ("edge" if name.endswith("count_triangles") else "add_remove"), name


def test_an_unknown_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="no_such_name"):
        getattr(dpfast, "no_such_name")  # noqa: B009 - the attribute is looked up on purpose
    with pytest.raises(ImportError):
        exec("from dpfast import no_such_name")


def test_version_is_that_of_the_distribution() -> None:
    assert dpfast.__version__ == metadata.version("dpfast")


@pytest.mark.parametrize("name", errors.__all__)
def test_errors_derive_from_ours_and_from_a_builtin(name: str) -> None:
    error = getattr(errors, name)
    assert issubclass(error, errors.DpfastError)
    if error is not errors.DpfastError:
        builtins = [base for base in error.__mro__ if base.__module__ == "builtins" and base not in (Exception, object)]
        assert any(base is not BaseException for base in builtins)
    again = pickle.loads(pickle.dumps(error("text")))
    assert type(again) is error
    assert again.args == ("text",)


def test_values_can_be_copied_and_streams_cannot(key: bytes) -> None:
    mechanism = dpfast.RandomisedResponse(["a", "b", None], epsilon=1.0)
    for again in (pickle.loads(pickle.dumps(mechanism)), copy.deepcopy(mechanism), copy.copy(mechanism)):
        assert again.digest == mechanism.digest
        assert again.domain.values == mechanism.domain.values
    for stream in (dpfast.Stream(), dpfast.Stream(key=key, context="c"), dpfast.Stream.insecure(1)):
        for attempt in (pickle.dumps, copy.copy, copy.deepcopy):
            with pytest.raises(TypeError):
                attempt(stream)
        assert key.hex() not in repr(stream)
        assert repr(key) not in repr(stream)


def test_privacy_parameters_are_keyword_only() -> None:
    for call in (dpfast.RandomisedResponse, dpfast.Stream, dpfast.sanitise_file):
        for name, parameter in inspect.signature(call).parameters.items():
            if name in {"epsilon", "delta", "key", "context", "rng", "threads"}:
                assert parameter.kind is inspect.Parameter.KEYWORD_ONLY, name


def test_a_module_of_duff_does_not_hide_its_function() -> None:
    for name in ("mode", "mean"):
        importlib.import_module(f"dpfast.duff.{name}")
        assert getattr(dpfast.duff, name) is getattr(dpfast, name)
