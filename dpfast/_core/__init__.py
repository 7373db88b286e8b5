"""The compiled core: each module is a binding over the C of the folder of its name in ``csrc``."""

from importlib.util import find_spec

from dpfast.errors import MissingPackageError

if find_spec("dpfast._core.rows") is None:
    raise MissingPackageError(
        "the compiled core of dpfast is not built: run `pip install .` in its source, and Python in another folder"
    )
