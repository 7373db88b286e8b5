"""Forks, other processes, signals and bare environments."""

from __future__ import annotations

import multiprocessing
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from dpfast import RandomisedResponse, Stream

MECHANISM = RandomisedResponse(range(4), epsilon=1.0)
# forking a process that has threads is what these tests are about
pytestmark = pytest.mark.filterwarnings("ignore:.*multi-threaded.*fork:DeprecationWarning")


def in_child(function: Callable[[], bytes], seconds: float = 20.0) -> bytes:
    """What `function` returns in a forked child; an exception there is reported by its type and text."""
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(read)
        try:
            answer = b"=" + function()
        except BaseException as error:
            answer = f"{type(error).__name__}: {error}".encode()
        with os.fdopen(write, "wb") as pipe:
            pipe.write(answer)
        os._exit(0)
    os.close(write)
    with os.fdopen(read, "rb") as pipe:
        deadline = time.monotonic() + seconds
        while os.waitpid(child, os.WNOHANG) == (0, 0):
            if time.monotonic() > deadline:
                os.kill(child, signal.SIGKILL)
                os.waitpid(child, 0)
                raise AssertionError("the child hangs")
            time.sleep(0.005)
        return pipe.read()


def keystream(stream: Stream, n: int = 800) -> bytes:
    return stream.rows("c", bytes(32), n).reader(0, whole=False).high(n).tobytes()


def test_64_children_of_a_fresh_stream_share_no_block() -> None:
    stream = Stream()
    seen = [keystream(stream)]
    seen += [in_child(lambda: keystream(stream))[1:] for _ in range(64)]
    seen.append(keystream(stream))
    blocks = [part[i : i + 16] for part in seen for i in range(0, len(part), 16)]
    assert len(blocks) == 66 * 100
    assert len(set(blocks)) == len(blocks)


@pytest.mark.parametrize("stream", [Stream(key=bytes(32), context="c"), Stream.insecure(1)], ids=["keyed", "insecure"])
def test_a_reproducible_stream_raises_in_the_child(stream: Stream) -> None:
    keystream(stream)
    for attempt in (
        lambda: keystream(stream),
        lambda: MECHANISM.sanitise(np.zeros(9, np.uint8), rng=stream, column_name="c").tobytes(),
        lambda: MECHANISM.sanitise(np.zeros(9, np.uint8), rng=stream, ids=np.arange(9), column_name="c").tobytes(),
    ):
        answer = in_child(attempt)
        assert answer.startswith(b"ArgumentError: this " + stream.kind.encode())
    keystream(stream)  # the parent's goes on


def test_the_child_can_use_threads_after_the_parent_did() -> None:
    column = np.zeros(5_000_000, np.uint8)
    mine = MECHANISM.sanitise(column, rng=Stream.insecure(1), threads=4)
    answer = in_child(lambda: MECHANISM.sanitise(column, rng=Stream.insecure(1), threads=4)[:1000].tobytes(), seconds=5)
    assert answer == b"=" + mine[:1000].tobytes()


def test_a_fork_while_threads_are_busy() -> None:
    import threading

    column = np.zeros(40_000_000, np.uint8)
    worker = threading.Thread(target=lambda: MECHANISM.sanitise(column, threads=4))
    worker.start()
    answers = [in_child(lambda: MECHANISM.sanitise(column[:5_000_000], threads=2)[:10].tobytes(), seconds=5) for _ in range(3)]
    worker.join()
    assert all(answer.startswith(b"=") and len(answer) == 11 for answer in answers)


def drawn(_: int) -> bytes:
    return MECHANISM.sanitise(np.zeros(200, np.uint8)).tobytes()


@pytest.mark.parametrize("method", ["fork", "spawn"])
def test_workers_draw_apart(method: str) -> None:
    drawn(0)
    with multiprocessing.get_context(method).Pool(4) as pool:
        answers = pool.map(drawn, range(16), chunksize=1)
    assert len(set(answers)) == 16


LONG = """
import numpy as np, dpfast
column = np.zeros(400_000_000, np.uint8)
mechanism = dpfast.RandomisedResponse(range(4), epsilon=1.0)
print("begin", flush=True)
try:
    for _ in range(50):
        mechanism.sanitise(column, threads={threads}, out=column)
except KeyboardInterrupt:
    print("interrupted", flush=True)
"""


@pytest.mark.parametrize("threads", [1, 2])
def test_ctrl_c_stops_a_long_call(threads: int) -> None:
    with subprocess.Popen([sys.executable, "-c", LONG.format(threads=threads)], stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "begin\n"
        time.sleep(0.3)
        process.send_signal(signal.SIGINT)
        start = time.monotonic()
        assert process.stdout.readline() == "interrupted\n"
        assert time.monotonic() - start < 3


def run(code: str, **changes: str | None) -> subprocess.CompletedProcess[str]:
    environment = {k: v for k, v in (os.environ | changes).items() if v is not None}
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=environment, check=False)


def test_the_target_can_be_forced_and_a_wrong_name_is_an_error() -> None:
    assert run("from dpfast import _core; print(_core.isa())", DPFAST_ISA="base").stdout == "base\n"
    wrong = run("import dpfast; dpfast.RandomisedResponse", DPFAST_ISA="sse9")
    assert wrong.returncode == 1
    assert "'sse9' is unknown or not supported here; choose one of base" in wrong.stderr


def test_works_without_a_home_or_a_place_to_write(tmp_path: Path) -> None:
    code = "import numpy as np, dpfast; print(dpfast.RandomisedResponse(range(2), epsilon=1.0).sanitise(np.zeros(3, int)).size)"
    done = run(code, HOME=None, TMPDIR=str(tmp_path / "missing"), XDG_CACHE_HOME=None)
    assert done.stdout == "3\n", done.stderr
