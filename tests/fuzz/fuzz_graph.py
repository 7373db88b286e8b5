"""Graphs of datasets: any edges are a graph whose extension is proved edge by edge, or an error of ours."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from faulty import quick_place
from fuzz_bytes import Bytes

from dpfast import ArgumentError, ArgumentTypeError, FileError, InfeasibleError, Stream, graph

__all__ = ["one"]

INTEGERS = ["<i8", "<u8", "<i4", "<i2", "<u1", "i1", "<f8"]
SUFFIXES = ("csv", "parquet", "arrow", "feather")
OURS = (ArgumentError, ArgumentTypeError, FileError)


def one(data: bytes) -> None:
    """Make a graph of the bytes and extend a mechanism over it."""
    given = Bytes(data)
    make = given.choice((from_arrays, from_rows, from_file))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        try:
            g = make(given)
        except OURS:
            return
        check(g, given if make is not from_file else Bytes(data[::-1]))


def from_arrays(given: Bytes) -> graph.DatasetGraph:
    n, vertices = given.number(0, 8), given.choice([None, 0, 1, 4, 9, 300])
    u, v = given.array(n, INTEGERS), given.array(n, INTEGERS)
    epsilons = [given.double() for _ in range(n)]
    deltas: Any = given.choice([0.0, 0.05, 1.0, float("nan"), [given.double()] * n])
    return graph.DatasetGraph(u, v, epsilons, deltas, n_vertices=vertices)


def from_rows(given: Bytes) -> graph.DatasetGraph:
    begins = given.array(given.number(0, 8), INTEGERS)
    targets = given.array(given.number(0, 8), INTEGERS)
    return graph.DatasetGraph.from_csr(begins, targets, given.double(), given.choice([0.0, 0.05]))


def from_file(given: Bytes) -> graph.DatasetGraph:
    suffix = given.choice(SUFFIXES)
    with quick_place() as place:
        path = place / f"g.{suffix}"
        path.write_bytes(given.rest())
        return graph.DatasetGraph.from_file(path)


def check(g: graph.DatasetGraph, given: Bytes) -> None:
    """Arcs come in pairs; whatever was fixed, an extension holds on every edge and has figures only."""
    n = g.n_vertices
    assert g.n_arcs % 2 == 0
    assert len(g.labels) == n
    if not 0 < n <= 400:
        return
    query = 1 + np.frombuffer(given.take(n), np.uint8) % 2
    fixed = np.full(n, np.nan)
    border = graph.boundary(g, query)
    places = {label: place for place, label in enumerate(np.asarray(g.labels).tolist() if n else [])}
    for label in np.asarray(border).tolist():
        fixed[places[label]] = given.choice([0.5, 0.5, 0.4, 0.6, 0.25, 0.75, 1.0, 0.0, float("nan")])
    try:
        extension = graph.extend(g, query, fixed)
    except (ArgumentError, InfeasibleError):
        return
    graph.verify(g, extension)
    for p in (extension.probability, extension.complement):
        assert not np.isnan(p).any()
        assert ((p >= 0) & (p <= 1)).all()
    assert extension.sample([g.labels[0]], rng=Stream.insecure(1)).tolist()[0] in (1, 2)
