"""Our rule inside loops of the user: the same answers as `sanitise`, compiled or not, cached or not, in parallel or not."""

from __future__ import annotations

import subprocess
import sys
import warnings
from pathlib import Path
from typing import Any

import numba
import numpy as np
import pytest

from dpfast import (
    ArgumentError,
    ArgumentTypeError,
    Domain,
    ExponentialResponse,
    Ledger,
    LedgerError,
    MatrixResponse,
    Privacy,
    RandomisedResponse,
    Stratified,
    Stream,
    kernels,
)
from dpfast.reference import response as twin

MECHANISMS = {
    "response": RandomisedResponse(Domain.range(10), epsilon=1.0),
    "uniform": RandomisedResponse(Domain.range(3), epsilon=0.0),
    "single": RandomisedResponse(["only"], epsilon=1.0),
    "whole words": RandomisedResponse(Domain.range(2000), epsilon=3.0),
    "unknown": RandomisedResponse(Domain([0, 1, 2], unknown="randomise"), epsilon=1.0),
    "matrix": ExponentialResponse(Domain([0, 1, 2, 3], unknown="randomise"), distance="ordinal", epsilon=1.0),
    "zeros": MatrixResponse(Domain.range(3), [[0.0, 1.0, 0.0], [0.0, 0.5, 0.5], [1.0, 0.0, 0.0]]),
}


@numba.njit(nogil=True)
def loop(codes: Any, words: Any, table: Any) -> Any:
    answers = np.empty_like(codes)
    for i in range(codes.size):
        answers[i] = kernels.respond(codes[i], words[i], table)
    return answers


@numba.njit(parallel=True)
def parallel_loop(codes: Any, words: Any, table: Any) -> Any:
    answers = np.empty_like(codes)
    for i in numba.prange(codes.size):
        answers[i] = kernels.respond(codes[i], words[i], table)
    return answers


def codes_of(mechanism: Any, n: int) -> Any:
    known = mechanism.domain.size + (mechanism.domain.unknown == "randomise")
    return np.random.default_rng(7).integers(0, known, n)


def column_of(mechanism: Any, codes: Any) -> Any:
    return np.array(["only"] * codes.size) if mechanism.domain.size == 1 else codes


@pytest.mark.parametrize("name", MECHANISMS)
def test_a_compiled_loop_answers_as_sanitise_does(name: str) -> None:
    mechanism = MECHANISMS[name]
    codes = codes_of(mechanism, 100_003)
    expected = mechanism.domain.encode(mechanism.sanitise(column_of(mechanism, codes), rng=Stream.insecure(5)))
    words = kernels.words(mechanism, codes.size, rng=Stream.insecure(5))
    table = kernels.table(mechanism)
    assert np.array_equal(loop(codes, words, table), expected)
    few = [int(kernels.respond(code, word, table)) for code, word in zip(codes[:300], words[:300], strict=True)]
    assert few == expected[:300].tolist()


def test_a_parallel_loop_gives_the_same_answers() -> None:
    # an answer may be an error, so numba runs the loop in order and says so; noise depends on the words alone in any case
    mechanism = MECHANISMS["response"]
    codes = codes_of(mechanism, 1000)
    words, table = kernels.words(mechanism, codes.size, rng=Stream.insecure(5)), kernels.table(mechanism)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", numba.core.errors.NumbaPerformanceWarning)
        answers = parallel_loop(codes, words, table)
    assert np.array_equal(answers, loop(codes, words, table))


@pytest.mark.parametrize("name", ["response", "uniform", "unknown"])
def test_a_compiled_loop_answers_as_the_reference_does(name: str) -> None:
    mechanism = MECHANISMS[name]
    codes = codes_of(mechanism, 500)
    words = kernels.words(mechanism, codes.size, rng=Stream.insecure(6))
    k, t = mechanism.domain.size, mechanism.threshold
    expected = [twin.decide(int(word), int(code), k, t) for code, word in zip(codes, words, strict=True)]
    assert loop(codes, words, kernels.table(mechanism)).tolist() == expected


def test_another_word_is_another_answer() -> None:
    # the control of the tests above: they would notice words of another row
    mechanism = MECHANISMS["response"]
    codes = codes_of(mechanism, 1000)
    words = kernels.words(mechanism, codes.size, rng=Stream.insecure(5))
    table = kernels.table(mechanism)
    assert not np.array_equal(loop(codes, words, table), loop(codes, np.roll(words, 1), table))


def test_words_at_the_edges_of_categories_are_decided_alike() -> None:
    for name in ("response", "uniform", "matrix", "unknown"):
        mechanism = MECHANISMS[name]
        table = kernels.table(mechanism)
        for row, integers in enumerate(mechanism.table):
            if name in ("response", "unknown"):
                pieces = twin.pieces(mechanism.domain.size, mechanism.threshold, row)
            else:
                ends = np.cumsum(integers)
                pieces = [(int(end - size), int(end), x) for x, (end, size) in enumerate(zip(ends, integers, strict=True))]
            for first, behind, category in pieces:
                edges = np.array([first, behind - 1], np.uint64)
                assert loop(np.array([row, row]), edges, table).tolist() == [category, category]


def test_a_column_in_pieces_has_the_words_of_the_whole() -> None:
    mechanism = MECHANISMS["response"]
    stream = Stream(key=bytes(32), context="release 1")
    pieces = [kernels.words(mechanism, n, rng=stream, column_name="carrier") for n in (1, 70_001, 0, 5)]
    whole = kernels.words(mechanism, 70_007, rng=Stream(key=bytes(32), context="release 1"), column_name="carrier")
    assert np.array_equal(np.concatenate(pieces), whole)
    rest = mechanism.sanitise(np.zeros(9, np.int64), rng=stream, column_name="carrier")
    longer = Stream(key=bytes(32), context="release 1")
    assert np.array_equal(rest, mechanism.sanitise(np.zeros(70_016, np.int64), rng=longer, column_name="carrier")[70_007:])


def test_a_code_outside_the_domain_is_refused_where_no_rule_answers_it() -> None:
    table = kernels.table(MECHANISMS["response"])
    for code in (-1, 10, 2**40):
        with pytest.raises(ValueError, match="outside the domain"):
            loop(np.array([code]), np.zeros(1, np.uint64), table)
        with pytest.raises(ValueError, match="outside the domain"):
            kernels.respond(code, 0, table)
    assert loop(np.array([-1]), np.zeros(1, np.uint64), kernels.table(MECHANISMS["unknown"])).tolist() == [0]


def test_words_are_charged_and_refused_like_sanitise(tmp_path: Path) -> None:
    mechanism = MECHANISMS["response"]
    ledger = Ledger(tmp_path / "spent.db", cap=Privacy(1.5))
    kernels.words(mechanism, 10, column_name="carrier", ledger=ledger)
    with pytest.raises(LedgerError, match="no room"):
        kernels.words(mechanism, 10, column_name="carrier", ledger=ledger)


def test_wrong_arguments_are_named() -> None:
    mechanism = MECHANISMS["response"]
    with pytest.raises(ArgumentTypeError, match="one mechanism, not of Stratified"):
        kernels.table(Stratified("by", {0: mechanism}))  # type: ignore[arg-type]
    with pytest.raises(ArgumentTypeError, match="one mechanism, not of str"):
        kernels.words("response", 3)  # type: ignore[arg-type]
    with pytest.raises(ArgumentTypeError, match=r"rng must be None or a dpfast\.Stream"):
        kernels.words(mechanism, 3, rng=np.random.default_rng(1))  # type: ignore[arg-type]
    with pytest.raises(ArgumentTypeError, match="n_rows must be an integer"):
        kernels.words(mechanism, 3.0)  # type: ignore[arg-type]
    with pytest.raises(ArgumentError, match="n_rows must be at least 0"):
        kernels.words(mechanism, -1)
    with pytest.raises(ArgumentTypeError, match="column_name"):
        kernels.words(mechanism, 3, rng=Stream(key=bytes(32), context="release 1"))


CACHED = """
import numba, numpy as np
from dpfast import RandomisedResponse, Stream, kernels

@numba.njit(cache=True)
def loop(codes, words, table):
    answers = np.empty_like(codes)
    for i in range(codes.size):
        answers[i] = kernels.respond(codes[i], words[i], table)
    return answers

mechanism = RandomisedResponse([0, 1, 2], epsilon=1.0)
codes = np.arange(3000) % 3
words = kernels.words(mechanism, 3000, rng=Stream.insecure(1))
answers = loop(codes, words, kernels.table(mechanism))
assert np.array_equal(answers, mechanism.sanitise(codes, rng=Stream.insecure(1)))
print(sum(loop.stats.cache_hits.values()))
"""


def test_a_loop_may_be_cached(tmp_path: Path) -> None:
    script = tmp_path / "cached.py"
    script.write_text(CACHED)
    hits = [subprocess.run([sys.executable, script], capture_output=True, text=True, check=True).stdout for _ in range(2)]
    assert hits == ["0\n", "1\n"]


WITHOUT = """
import sys
sys.modules["numba"] = None
import numpy as np
from dpfast import MissingPackageError, RandomisedResponse, Stream, kernels
mechanism = RandomisedResponse([0, 1, 2], epsilon=1.0)
words = kernels.words(mechanism, 3, rng=Stream.insecure(1))
table = kernels.table(mechanism)
answers = [int(kernels.respond(code, word, table)) for code, word in zip([0, 1, 2], words)]
assert answers == mechanism.sanitise(np.array([0, 1, 2]), rng=Stream.insecure(1)).tolist()
slow = kernels.response([mechanism], compiled=False)(lambda age: 0)
assert slow.sanitise(np.array([0, 1]), np.array([5, 6])).size == 2
try:
    kernels.response([mechanism])(lambda age: 0)
except MissingPackageError as error:
    print(error)
"""


def test_without_numba_all_but_compiling_works_and_the_error_says_what_to_install() -> None:
    run = subprocess.run([sys.executable, "-c", WITHOUT], capture_output=True, text=True, check=True)
    assert run.stdout == "dpfast.kernels.response needs numba: pip install 'dpfast[numba]'; or pass compiled=False\n"


def test_no_place_for_a_cache_is_needed(tmp_path: Path) -> None:
    script = CACHED.replace("(cache=True)", "").replace("print(", "str(")
    environment = {
        "PATH": "/usr/bin:/bin",
        "TMPDIR": str(tmp_path / "missing"),
        "PYTHONPATH": str(Path(kernels.__file__).parents[2]),
    }
    run = subprocess.run([sys.executable, "-B", "-c", script], env=environment, capture_output=True, text=True, cwd="/")
    assert run.returncode == 0, run.stderr
