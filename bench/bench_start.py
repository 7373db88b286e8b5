"""What a small job costs: the import, and sixty-four codes.

    pytest bench/bench_start.py -s

The import is compared with that of numpy alone, each in a process of its own: as it is, which is what is promised, and with a
mechanism, as most names of the package are imported when they are asked for.
"""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import numpy as np
from timing import interleaved, save

from dpfast import RandomisedResponse

IMPORT_REACH = 40.0  # milliseconds above `import numpy`
CALL_REACH = 20e-6  # seconds of 64 codes
CALLS = 2000


def started(code: str) -> None:
    subprocess.run([sys.executable, "-c", code], check=True)


def test_start_ratios() -> None:
    statements = {
        "numpy": "import numpy",
        "dpfast": "import numpy, dpfast",
        "mechanism": "import numpy, dpfast; dpfast.RandomisedResponse",
    }
    imports = interleaved({name: lambda code=code: started(code) for name, code in statements.items()}, rounds=15)
    above, first = ((imports[name] - imports["numpy"]) * 1e3 for name in ("dpfast", "mechanism"))
    codes = np.arange(64, dtype=np.uint8) % 10
    mechanism = RandomisedResponse(range(10), epsilon=1.0)
    answers = mechanism.sanitise(codes)
    assert answers.dtype == codes.dtype
    assert answers.max() < 10

    def calls() -> Any:
        for _ in range(CALLS):
            mechanism.sanitise(codes)

    call = interleaved({"calls": calls}, rounds=7)["calls"] / CALLS
    print(f"\nimport: {above:.0f} ms above numpy's, with a mechanism {first:.0f}; 64 codes: {call * 1e6:.1f} microseconds")
    save(
        "start",
        [
            {"work": "`import dpfast`", "ratios": [{"against": "`import numpy`", "says": f"{above:.0f} ms more"}]},
            {"work": "the same and a mechanism", "ratios": [{"against": "`import numpy`", "says": f"{first:.0f} ms more"}]},
            {
                "work": "`sanitise` of 64 codes, fresh stream",
                "ratios": [{"against": "itself", "says": f"{call * 1e6:.0f} µs a call"}],
            },
        ],
    )
    assert above <= IMPORT_REACH
    assert call <= CALL_REACH
