"""One session of Spark for all tests of this folder; it ends with them."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from spark_cases import KEY, session_in


@pytest.fixture(scope="package")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("spark")


@pytest.fixture(scope="package")
def key_file(folder: Path) -> Path:
    path = folder / "key"
    path.touch(0o600)
    path.write_bytes(KEY)
    return path


@pytest.fixture(scope="package")
def spark(folder: Path) -> Iterator[Any]:
    with session_in(folder) as session:
        yield session
