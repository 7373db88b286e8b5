"""Processes that share a ledger: together never above the cap; a kill may leave a charge alone, never a release without one."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from fractions import Fraction
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from dpfast import Ledger, LedgerError, Policy, Privacy, RandomisedResponse, sanitise_file

# Waits until all are there, then sanitises until the ledger refuses; says how often it succeeded.
RACER = """
import sys
import numpy as np
from dpfast import Ledger, LedgerError, Privacy, RandomisedResponse

ledger = Ledger(sys.argv[1], cap=Privacy(float(sys.argv[2])))
mechanism = RandomisedResponse(["no", "yes"], epsilon=0.25)
column = np.array(["no", "yes"])
print("ready", flush=True)
sys.stdin.readline()
done = 0
try:
    while True:
        mechanism.sanitise(column, ledger=ledger)
        done += 1
except LedgerError:
    print(done)
"""

# Charges, and is killed where it would draw: between the two there is no other step.
KILLED = """
import os, signal, sys
from dpfast import Ledger, Policy, sanitise_file
from dpfast.etl import parquet

def die(*arguments):
    os.kill(os.getpid(), signal.SIGKILL)

parquet.FilePlan.sanitise = die
policy = Policy.load("policy.toml")
sanitise_file("source.parquet", "out/target.parquet", policy, key=bytes(range(32)), context="c", ledger=Ledger("ledger"))
"""

# Charges until it is killed, and says after each charge that it is there.
ENDLESS = """
import sys
from dpfast import Ledger, Privacy

ledger = Ledger(sys.argv[1])
while True:
    ledger.charge(Privacy(0.125))
    print("charged", flush=True)
"""

# In a process of its own, which has no threads that a fork could stop halfway.
FORKING = """
import os, sys
from dpfast import Ledger, Privacy

ledger = Ledger(sys.argv[1], cap=Privacy(2.0))
ledger.charge(Privacy(0.5))
child = os.fork()
if child == 0:
    ledger.charge(Privacy(0.25))
    os._exit(0)
print(os.waitpid(child, 0)[1])
ledger.charge(Privacy(1.0))
"""


def python(code: str, *words: object, cwd: Path | None = None) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-c", code, *map(str, words)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        cwd=cwd,
    )


@pytest.mark.parametrize("cap", [3.0, 3.2])
def test_processes_that_race_for_the_last_never_exceed_the_cap(tmp_path: Path, cap: float) -> None:
    path = tmp_path / "ledger"
    racers = [python(RACER, path, cap) for _ in range(6)]  # they also race to make it
    for racer in racers:
        assert racer.stdout is not None
        assert racer.stdout.readline() == "ready\n", racer.communicate()[1]
    for racer in racers:
        assert racer.stdin is not None
        racer.stdin.write("\n")
        racer.stdin.flush()
    answers = [racer.communicate(timeout=120) for racer in racers]
    assert [error for _, error in answers] == [""] * 6
    assert sum(int(output) for output, _ in answers) == 12
    ledger = Ledger(path)
    ledger.check()
    entries = ledger.entries()
    assert len({entry.key for entry in entries}) == len(entries) == 12
    assert sum(Fraction(entry.privacy.epsilon) for entry in entries) == 3
    assert os.listdir(tmp_path) == ["ledger"]


def test_threads_share_a_ledger(tmp_path: Path) -> None:
    ledger = Ledger(tmp_path / "ledger", cap=Privacy(2.0))
    refused = []

    def run() -> None:
        for _ in range(5):
            try:
                ledger.charge(Privacy(0.25))
            except LedgerError:
                refused.append(1)

    threads = [threading.Thread(target=run) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert (len(ledger.entries()), len(refused)) == (8, 12)
    ledger.check()


def test_a_ledger_is_used_after_a_fork(tmp_path: Path) -> None:
    process = python(FORKING, tmp_path / "ledger")
    assert process.communicate(timeout=60) == ("0\n", "")
    assert [entry.privacy.epsilon for entry in Ledger(tmp_path / "ledger").entries()] == [0.5, 0.25, 1.0]


def test_a_kill_between_charge_and_draw_leaves_the_charge_and_the_retry_is_free(tmp_path: Path, key: bytes) -> None:
    (tmp_path / "out").mkdir()
    (tmp_path / "policy.toml").write_text('version = 1\n[columns.smoker]\ndomain = ["no", "yes"]\nepsilon = 1.0\n')
    pq.write_table(pa.table({"smoker": ["no", "yes"] * 50}), tmp_path / "source.parquet")
    ledger = Ledger(tmp_path / "ledger", cap=Privacy(1.0))
    process = python(KILLED, cwd=tmp_path)
    assert (process.communicate(timeout=60)[1], process.returncode) == ("", -signal.SIGKILL)
    assert not (tmp_path / "out" / "target.parquet").exists()
    assert ledger.total() == Privacy(1.0)
    ledger.check()
    policy = Policy.load(tmp_path / "policy.toml")
    with pytest.raises(LedgerError):  # nothing is left for another release
        sanitise_file(tmp_path / "source.parquet", tmp_path / "out" / "target.parquet", policy, ledger=ledger)
    report = sanitise_file(
        tmp_path / "source.parquet", tmp_path / "out" / "target.parquet", policy, key=key, context="c", ledger=ledger
    )
    assert (report.rows, len(ledger.entries())) == (100, 1)


def test_a_kill_at_any_time_leaves_a_whole_chain_with_all_that_was_charged(tmp_path: Path) -> None:
    ledger = Ledger(tmp_path / "ledger", cap=Privacy(1000.0))
    told = 0
    for steps in (1, 2, 3, 5, 8):
        process = python(ENDLESS, tmp_path / "ledger")
        assert process.stdout is not None
        for _ in range(steps):
            assert process.stdout.readline() == "charged\n"
        process.kill()
        told += steps + process.communicate(timeout=30)[0].count("charged")
        ledger.check()
        assert told <= len(ledger.entries()) <= told + 1
        told = len(ledger.entries())
    assert ledger.total().epsilon == 0.125 * told


def test_a_racer_alone_gets_all(tmp_path: Path) -> None:
    # The control of the race: without others the same program spends the whole cap.
    racer = python(RACER, tmp_path / "ledger", 1.0)
    assert racer.communicate("\n", timeout=60) == ("ready\n4\n", "")
    column = np.array(["no"])
    with pytest.raises(LedgerError):
        RandomisedResponse(["no", "yes"], epsilon=0.25).sanitise(column, ledger=Ledger(tmp_path / "ledger"))
