"""Imports point one way: each module of the package belongs to a layer and imports from that layer or below."""

from __future__ import annotations

import ast
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

PACKAGE = Path(__file__).resolve().parents[2] / "dpfast"

# From the bottom up. A package stands for all modules in it.
LAYERS = [
    {"errors", "_validation", "_text"},
    {"_numba"},
    {"_core"},
    {"_fields", "_rounding", "_statement", "budget", "privacy", "randomness", "keys", "words", "_threads", "_spending"},
    {"_losses", "_exact_composition", "_grid_composition", "_grid_bounds", "composition"},
    {
        "_frames",
        "_frames_duckdb",
        "_frames_spark",
        "_parquet",
        "_sources",
        "_schema",
        "columns",
        "ids",
        "_domain_base",
        "_domain_bins",
        "_domain_values",
        "domain",
        "product",
    },
    {"integer_table", "hockey_stick"},
    {"channel", "_estimate_simplex", "_intervals", "_estimate_core", "_figures"},
    {"sanitise", "histogram", "_tally", "estimate", "crosstab"},
    {"mechanism"},
    {"integer_mechanism"},
    {"response", "matrix"},
    {"change", "exponential", "optimal", "stratified"},
    {"_policy_groups", "_policy_mechanisms", "_toml_lines"},
    {
        "_policy_base",
        "_policy_check",
        "_policy_compare",
        "_policy_estimate",
        "_policy_figures",
        "_policy_plan",
        "_policy_sanitise",
        "_policy_toml",
        "_policy_totals",
        "policy",
    },
    {"certificates", "_release"},
    {"audit"},
    {"graph"},
    {"duff"},
    {"etl"},
    {"baselines"},
    {"kernels"},
    {"_plot_axes", "_plot_data", "plots", "_report_page", "_report_words", "report"},
    {"_config"},
    {"cli", "__main__"},
]
# These stand beside the layers: reference knows nothing of ours, the package's face knows all, and few know the face.
APART = {"reference", "__init__"}
USE_THE_FACE = {"_config", "cli"}
HEAVY = ["pyarrow", "pyspark", "pandas", "polars", "scipy", "networkx", "numba", "cryptography", "tqdm", "matplotlib"]


def modules() -> dict[str, Path]:
    """Dotted names within the package, with their files."""
    return {
        ".".join(path.relative_to(PACKAGE).with_suffix("").parts).removesuffix(".__init__"): path
        for path in sorted(PACKAGE.rglob("*.py"))
    }


def imports(tree: ast.Module, module: str, *, types: bool = True) -> Iterator[str]:
    """Modules of ours that the code imports, at the top or within functions, as dotted names within the package.

    With types=False without those that only type checkers see.
    """
    known = set(modules()) | {f"_core.{path.stem}" for path in (PACKAGE / "_core").glob("*.pyx")}
    unseen = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.If) and isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING":
            unseen |= set(node.body)
    for node in ast.walk(tree):
        if node in unseen and not types:
            continue
        if isinstance(node, ast.Import):
            found = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{module}: relative import on line {node.lineno}; write the whole name"
            source = node.module or ""
            # `from dpfast import x` imports a module when there is one of that name, else a name of the face.
            found = [
                f"{source}.{alias.name}" if f"{source}.{alias.name}".removeprefix("dpfast.") in known else source
                for alias in node.names
            ]
        else:
            continue
        for name in found:
            if name == "dpfast":
                yield "__init__"
            elif name.startswith("dpfast."):
                yield name.removeprefix("dpfast.")


def layer(module: str) -> int:
    top = module.split(".")[0]
    for number, names in enumerate(LAYERS):
        if top in names:
            return number
    raise AssertionError(f"{module} has no place in the drawing of tests/api/test_layers.py")


def violations(source: str, module: str) -> list[str]:
    """What `module` with this source imports and must not."""
    wrong = []
    for target in imports(ast.parse(source), module):
        if module.split(".")[0] == "reference":
            allowed = target.split(".")[0] == "reference"
        else:
            face = target == "__init__" and module.split(".")[0] in USE_THE_FACE
            allowed = face or (target.split(".")[0] not in APART and layer(target) <= layer(module))
        if not allowed:
            wrong.append(f"{module} imports {target}")
    return wrong


@pytest.mark.parametrize("module", [name for name in modules() if name != "__init__"])
def test_imports_point_downwards(module: str) -> None:
    assert violations(modules()[module].read_text(), module) == []


def test_within_a_layer_there_are_no_circles() -> None:
    arcs = {
        name: {target for target in imports(ast.parse(path.read_text()), name, types=False) if target != name}
        for name, path in modules().items()
        if name != "__init__"
    }
    done: set[str] = set()
    while len(done) < len(arcs):
        free = {name for name in set(arcs) - done if arcs[name] & set(arcs) <= done}
        assert free, f"circle of imports among {sorted(set(arcs) - done)}"
        done |= free


@pytest.mark.parametrize(
    ("source", "module"),
    [
        ("from dpfast.response import RandomisedResponse", "domain"),
        ("def f():\n    import dpfast.cli", "etl.files"),
        ("from dpfast import policy", "response"),
        ("from dpfast import Domain", "sanitise"),
        ("import dpfast", "policy"),
        ("from dpfast import errors", "reference.response"),
        ("from dpfast.reference import response", "response"),
        ("from dpfast.privacy import Privacy", "errors"),
    ],
)
def test_an_upward_import_is_seen(source: str, module: str) -> None:
    assert violations(source, module) != []


def test_a_module_outside_the_drawing_is_seen() -> None:
    with pytest.raises(AssertionError, match="no place in the drawing"):
        violations("from dpfast import errors", "helpers")


def run(code: str) -> str:
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout


def test_import_loads_nothing_heavy() -> None:
    # Also not when the numpy side is used: pyarrow is for those who come with Arrow, the cipher for those who draw.
    for use in ("dpfast.DpfastError", "dpfast.RandomisedResponse(dpfast.Domain.range(3), epsilon=1.0), dpfast.Stream"):
        code = f"import sys, numpy; old = set(sys.modules); import dpfast; {use}; print(*(set(sys.modules) - old))"
        loaded = {name.split(".")[0] for name in run(code).split()}
        assert "dpfast" in loaded
        assert loaded.isdisjoint(HEAVY)


def test_import_is_quick() -> None:
    # At most forty milliseconds over numpy; the least of several, as the first reads the disc.
    code = "import numpy, time; t = time.perf_counter(); import dpfast; print(time.perf_counter() - t)"
    assert min(float(run(code)) for _ in range(7)) <= 0.040
