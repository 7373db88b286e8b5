"""Run one target under atheris (libFuzzer): ``python tests/fuzz/fuzz.py policy FOLDER -max_total_time=60``.

Python code of ours is instrumented as it is imported, so that inputs which reach new branches are kept, in FOLDER, and changed
further; what breaks the target is left there too. It begins with the committed corpus.
"""

from __future__ import annotations

import importlib
import sys
from pathlib import Path

import atheris

HERE = Path(__file__).resolve().parent


def main() -> None:
    name, folder = sys.argv.pop(1), Path(sys.argv.pop(1))
    corpus = HERE / "corpus" / name
    sys.path[:0] = [str(HERE), str(HERE.parent)]
    with atheris.instrument_imports(include=["dpfast"], enable_loader_override=False):
        one = importlib.import_module(f"fuzz_{name}").one
        for path in sorted(corpus.iterdir()):  # modules that load on first use are instrumented, too
            one(path.read_bytes())
    inputs = folder / "inputs"
    inputs.mkdir(parents=True, exist_ok=True)
    # Each allocation is limited, not the peak: on Linux that of a large parent would count as the fuzzer's own.
    limits = ["-max_len=2048", "-timeout=30", "-rss_limit_mb=0", "-malloc_limit_mb=2048"]
    options = [f"-dict={HERE / name}.dict", f"-artifact_prefix={folder}/", *limits]
    atheris.Setup([sys.argv[0], *options, *sys.argv[1:], str(inputs), str(corpus)], one)
    atheris.Fuzz()


main()
