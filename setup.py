"""Build of the modules of dpfast._core.

DPFAST_DEBUG=1, DPFAST_SANITIZE=address,undefined or thread, DPFAST_COVERAGE=1 (gcov), DPFAST_WERROR=1.
"""

import os
from glob import glob
from pathlib import Path

from Cython.Build import cythonize
from setuptools import Extension, setup

sanitize = os.environ.get("DPFAST_SANITIZE", "")
debug = bool(sanitize or os.environ.get("DPFAST_DEBUG"))

# -ffp-contract=off and C11 keep the arithmetic of all SIMD targets the same; at -O2 GCC 12 does not vectorise the row loops.
cflags = ["-std=c11", "-ffp-contract=off", "-fvisibility=hidden", "-Wall", "-Wextra"]
cflags += ["-O1", "-g", "-UNDEBUG"] if debug else ["-O3", "-g0", "-DNDEBUG"]
cflags += ["-Werror"] if os.environ.get("DPFAST_WERROR") else []
ldflags = []
if sanitize:
    cflags += [f"-fsanitize={sanitize}", "-fno-omit-frame-pointer", "-fno-sanitize-recover=undefined"]
    ldflags += [f"-fsanitize={sanitize}"]
if os.environ.get("DPFAST_COVERAGE"):
    # Branches as they are written, and each copy of a kernel a function of its own: gcov mixes those that are inlined.
    cflags += ["-O0", "--coverage", "-fprofile-update=atomic", "-Dalways_inline=noinline", "-Wno-attributes"]
    ldflags += ["--coverage"]

# Each module dpfast/_core/NAME.pyx stands over the C of csrc/NAME.
modules = [
    Extension(
        f"dpfast._core.{path.stem}",
        sources=[str(path), *sorted(glob(f"csrc/{path.stem}/*.c"))],
        depends=sorted(glob("csrc/*.h") + glob(f"csrc/{path.stem}/*.h")),
        include_dirs=["csrc", f"csrc/{path.stem}"],
        extra_compile_args=cflags,
        extra_link_args=ldflags,
    )
    for path in sorted(Path("dpfast/_core").glob("*.pyx"))
]
directives = {
    "language_level": 3,
    "boundscheck": debug,
    "initializedcheck": debug,
    "wraparound": False,
    "cdivision": True,
    "auto_pickle": False,
    "autotestdict": False,
}
setup(
    ext_modules=cythonize(modules, compiler_directives=directives),
    options={"build_ext": {"parallel": os.cpu_count() or 1}},  # modules are compiled at the same time
)
