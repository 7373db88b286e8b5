# The binding of the graph engine: converts arguments, checks lengths, releases the GIL, calls C. No algorithms.
# Long work is done in pieces, between which Python sees to signals.
cimport cython
from cpython.exc cimport PyErr_CheckSignals
from cpython.mem cimport PyMem_RawCalloc, PyMem_RawFree, PyMem_RawMalloc, PyMem_RawRealloc
from libc.stdint cimport int32_t, int64_t, uint8_t, uint32_t, uint64_t

from dpfast._core._need cimport need


cdef extern from "law.h" nogil:
    uint64_t DPF_KEY_ONE
    double dpf_weight(double epsilon) noexcept


cdef extern from "model.h" nogil:
    ctypedef struct dpf_graph_t:
        int64_t n_vertices
        const int64_t *indptr
        const int32_t *indices
        const double *weights
        const double *deltas
        const uint8_t *colours

    int dpf_edges_count(const int32_t *, const int32_t *, const double *, const double *, int64_t, int64_t, int64_t, int64_t *,
                        int64_t *) noexcept
    void dpf_edges_scatter(const int32_t *, const int32_t *, const double *, const double *, int64_t, int64_t, int64_t *,
                           int32_t *, double *, double *) noexcept
    void dpf_rows_transpose(const int64_t *, const int32_t *, const double *, const double *, int64_t, int64_t, int64_t *,
                            int32_t *, double *, double *) noexcept
    void dpf_rows_merge(int64_t *, int32_t *, double *, double *, int64_t, int64_t, int64_t *, int64_t *) noexcept
    void dpf_weights(const double *, int64_t, double *) noexcept


cdef extern from "propagate.h" nogil:
    int DPF_ROOM
    int DPF_MORE

    ctypedef struct dpf_heap_t:
        int32_t *vertices
        int32_t *places
        int64_t size

    ctypedef struct dpf_chunk_t:
        uint32_t count

    ctypedef struct dpf_buckets_t:
        unsigned shift
        uint64_t n_buckets
        uint32_t *heads
        uint64_t *occupied
        dpf_chunk_t *chunks
        uint32_t capacity
        uint32_t used
        int64_t followed

    void dpf_heap_start(const dpf_graph_t *, const uint64_t *, dpf_heap_t *) noexcept
    int dpf_heap_run(const dpf_graph_t *, uint64_t *, dpf_heap_t *, int64_t) noexcept
    int dpf_buckets_run(const dpf_graph_t *, uint64_t *, dpf_buckets_t *, int64_t) noexcept
    void dpf_words_finish(uint64_t *, int64_t, int64_t) noexcept


cdef extern from "edges.h" nogil:
    void dpf_boundary(const dpf_graph_t *, int64_t, int64_t, uint8_t *) noexcept
    void dpf_cross(const dpf_graph_t *, const uint8_t *, const uint64_t *, int64_t, int64_t, uint64_t *, uint8_t *) noexcept
    int64_t dpf_unproved(const dpf_graph_t *, const uint64_t *, int64_t *, int64_t *, int64_t, int64_t *, int64_t) noexcept
    void dpf_steps(const uint64_t *, const double *, const double *, int64_t, uint64_t *) noexcept
    uint64_t dpf_along(uint64_t, const double *, const double *, int64_t) noexcept


KEY_ONE = DPF_KEY_ONE
cdef enum:
    PIECE = 1 << 20  # edges, rows or arcs a call: some 10 ms
    SHIFT_LEAST = 40
    SHIFT_MOST = 56


def weight(double epsilon):
    """Weight of an edge: e**epsilon rounded down, or above 709 e**-epsilon rounded up."""
    need(epsilon >= 0, "epsilon is at least 0")
    return dpf_weight(epsilon)


def weights(const double[::1] epsilons not None, double[::1] out not None):
    """Weights of many epsilons."""
    cdef int64_t n = epsilons.shape[0], at = 0, size
    need(out.shape[0] == n, "arrays have one length")
    while at < n:
        size = min(n - at, <int64_t>PIECE)
        PyErr_CheckSignals()
        with nogil:
            dpf_weights(&epsilons[at], size, &out[at])
        at += size


def steps(const uint64_t[::1] keys not None, const double[::1] weights not None, const double[::1] deltas not None,
          uint64_t[::1] out not None):
    """Keys that an edge allows next to keys."""
    cdef int64_t n = keys.shape[0]
    need(weights.shape[0] == n and deltas.shape[0] == n and out.shape[0] == n, "arrays have one length")
    if n:
        dpf_steps(&keys[0], &weights[0], &deltas[0], n, &out[0])


def along(uint64_t key, const double[::1] weights not None, const double[::1] deltas not None):
    """Key that a path of edges allows at its end."""
    cdef int64_t n = weights.shape[0], at = 0, size
    need(deltas.shape[0] == n, "arrays have one length")
    need(key <= DPF_KEY_ONE, "a key is at most KEY_ONE")
    while at < n:
        size = min(n - at, <int64_t>PIECE)
        PyErr_CheckSignals()
        with nogil:
            key = dpf_along(key, &weights[at], &deltas[at], size)
        at += size
    return key


cdef const double *_reals(const double[::1] values, int64_t n) except? NULL:
    """Address of an optional array of n."""
    if values is None:
        return NULL
    need(values.shape[0] == n, "arrays have one length")
    return &values[0] if n else NULL


def edges_count(const int32_t[::1] u not None, const int32_t[::1] v not None, const double[::1] epsilons not None,
                const double[::1] deltas, int64_t[::1] counts not None):
    """Count the arcs of each vertex v in counts[v + 1]; return (what is wrong, with which edge)."""
    cdef int64_t n = u.shape[0], start = 0, stop, bad = 0, n_vertices = counts.shape[0] - 1
    cdef const double *optional = _reals(deltas, n)
    cdef int status
    need(v.shape[0] == n and epsilons.shape[0] == n and n_vertices >= 0, "arrays have one length")
    while start < n:
        stop = min(n, start + PIECE)
        PyErr_CheckSignals()
        with nogil:
            status = dpf_edges_count(&u[0], &v[0], &epsilons[0], optional, start, stop, n_vertices, &counts[0], &bad)
        if status:
            return status, bad
        start = stop
    return 0, 0


def edges_scatter(const int32_t[::1] u not None, const int32_t[::1] v not None, const double[::1] epsilons not None,
                  const double[::1] deltas, int64_t[::1] cursors not None, int32_t[::1] indices not None,
                  double[::1] arc_epsilons not None, double[::1] arc_deltas):
    """Write both arcs of each edge at the cursors, which `edges_count` has counted."""
    cdef int64_t n = u.shape[0], start = 0, stop, arcs = indices.shape[0]
    cdef const double *optional = _reals(deltas, n)
    cdef double *out = <double *>_reals(arc_deltas, arcs)
    need(v.shape[0] == n and epsilons.shape[0] == n and arc_epsilons.shape[0] == arcs, "arrays have one length")
    need((deltas is None) == (arc_deltas is None), "deltas on both sides or on none")
    while start < n and arcs:
        stop = min(n, start + PIECE)
        PyErr_CheckSignals()
        with nogil:
            dpf_edges_scatter(&u[0], &v[0], &epsilons[0], optional, start, stop, &cursors[0], &indices[0], &arc_epsilons[0], out)
        start = stop


def rows_transpose(const int64_t[::1] indptr not None, const int32_t[::1] indices not None, const double[::1] epsilons not None,
                   const double[::1] deltas, int64_t[::1] cursors not None, int32_t[::1] new_indices not None,
                   double[::1] new_epsilons not None, double[::1] new_deltas):
    """Sort rows by target."""
    cdef int64_t n = indptr.shape[0] - 1, arcs = indices.shape[0], start = 0, stop
    cdef const double *optional = _reals(deltas, arcs)
    cdef double *out = <double *>_reals(new_deltas, arcs)
    need(epsilons.shape[0] == arcs and new_indices.shape[0] == arcs and new_epsilons.shape[0] == arcs
         and cursors.shape[0] >= n and (deltas is None) == (new_deltas is None), "arrays have one length")
    while start < n and arcs:
        stop = min(n, start + PIECE // 8)
        PyErr_CheckSignals()
        with nogil:
            dpf_rows_transpose(&indptr[0], &indices[0], &epsilons[0], optional, start, stop, &cursors[0], &new_indices[0],
                               &new_epsilons[0], out)
        start = stop


def rows_merge(int64_t[::1] indptr not None, int32_t[::1] indices not None, double[::1] epsilons not None, double[::1] deltas):
    """Drop implied parallel arcs in place; return how many are left."""
    cdef int64_t n = indptr.shape[0] - 1, arcs = indices.shape[0], start = 0, stop, begin = 0, filled = 0
    cdef double *optional = <double *>_reals(deltas, arcs)
    need(epsilons.shape[0] == arcs, "arrays have one length")
    while start < n and arcs:
        stop = min(n, start + PIECE // 8)
        PyErr_CheckSignals()
        with nogil:
            dpf_rows_merge(&indptr[0], &indices[0], &epsilons[0], optional, start, stop, &begin, &filled)
        start = stop
    return filled


@cython.final
cdef class Arcs:
    """A graph as C sees it; holds the arrays."""
    cdef dpf_graph_t graph
    cdef tuple owners

    def __cinit__(self, const int64_t[::1] indptr not None, const int32_t[::1] indices not None,
                  const double[::1] weights not None, const double[::1] deltas, const uint8_t[::1] colours=None):
        cdef int64_t arcs = indices.shape[0]
        self.owners = (indptr, indices, weights, deltas, colours)
        self.graph.n_vertices = indptr.shape[0] - 1
        need(self.graph.n_vertices >= 0 and weights.shape[0] == arcs, "arrays have one length")
        need(indptr[0] == 0 and indptr[self.graph.n_vertices] == arcs, "indptr runs from 0 to the number of arcs")
        self.graph.indptr = &indptr[0]
        self.graph.indices = &indices[0] if arcs else NULL
        self.graph.weights = &weights[0] if arcs else NULL
        self.graph.deltas = _reals(deltas, arcs)
        self.graph.colours = NULL
        if colours is not None:
            need(colours.shape[0] == self.graph.n_vertices, "a colour for each vertex")
            self.graph.colours = &colours[0] if self.graph.n_vertices else NULL

    cdef int hold(self, Py_ssize_t size) except -1:
        return need(size == self.graph.n_vertices, "an entry for each vertex")

    def by_heap(self, uint64_t[::1] words not None):
        """Least fixed point by a heap, in place: the reference of `by_buckets`."""
        cdef dpf_heap_t heap
        cdef int64_t n = words.shape[0]
        cdef int status = DPF_MORE
        self.hold(n)
        heap.vertices = <int32_t *>PyMem_RawMalloc(max(n, 1) * sizeof(int32_t))
        heap.places = <int32_t *>PyMem_RawMalloc(max(n, 1) * sizeof(int32_t))
        try:
            if heap.vertices == NULL or heap.places == NULL:
                raise MemoryError("no memory for the heap")
            if n:
                dpf_heap_start(&self.graph, &words[0], &heap)
            while n and status == DPF_MORE:
                PyErr_CheckSignals()
                with nogil:
                    status = dpf_heap_run(&self.graph, &words[0], &heap, PIECE)
        finally:
            PyMem_RawFree(heap.vertices)
            PyMem_RawFree(heap.places)

    def by_buckets(self, uint64_t[::1] words not None, unsigned shift, uint32_t chunks=0):
        """Least fixed point by buckets of 2**shift keys, in place; return how often a vertex was followed."""
        cdef dpf_buckets_t *buckets
        cdef int64_t n = words.shape[0], start = 0
        cdef uint32_t room
        cdef void *grown
        cdef int status = DPF_MORE
        self.hold(n)
        need(SHIFT_LEAST <= shift <= SHIFT_MOST, "a shift from 40 to 56")
        if not n:
            return 0
        buckets = <dpf_buckets_t *>PyMem_RawCalloc(1, sizeof(dpf_buckets_t))
        if buckets == NULL:
            raise MemoryError("no memory for the buckets")
        try:
            buckets.shift = shift
            buckets.n_buckets = (DPF_KEY_ONE >> shift) + 1
            buckets.used = 1
            buckets.capacity = chunks if chunks else n // 16 + 4096
            buckets.heads = <uint32_t *>PyMem_RawCalloc(buckets.n_buckets, sizeof(uint32_t))
            buckets.occupied = <uint64_t *>PyMem_RawCalloc(buckets.n_buckets // 64 + 2, sizeof(uint64_t))
            buckets.chunks = <dpf_chunk_t *>PyMem_RawCalloc(buckets.capacity, sizeof(dpf_chunk_t))
            if buckets.heads == NULL or buckets.occupied == NULL or buckets.chunks == NULL:
                raise MemoryError("no memory for the buckets")
            while status:
                PyErr_CheckSignals()
                with nogil:
                    status = dpf_buckets_run(&self.graph, &words[0], buckets, PIECE)
                if status == DPF_ROOM:
                    need(buckets.capacity < <uint32_t>1 << 31, "a graph with too many improvements")
                    room = buckets.capacity + buckets.capacity // 2 + 16
                    grown = PyMem_RawRealloc(buckets.chunks, room * sizeof(dpf_chunk_t))
                    if grown == NULL:
                        raise MemoryError("no memory for the buckets")
                    buckets.chunks = <dpf_chunk_t *>grown
                    buckets.capacity = room
            return buckets.followed
        finally:
            dpf_words_finish(&words[0], 0, n)
            PyMem_RawFree(buckets.heads)
            PyMem_RawFree(buckets.occupied)
            PyMem_RawFree(buckets.chunks)
            PyMem_RawFree(buckets)

    def boundary(self, uint8_t[::1] out not None):
        """Mark vertices with a neighbour of another colour."""
        cdef int64_t n = out.shape[0], start = 0, stop
        self.hold(n)
        need(self.graph.colours != NULL or n == 0, "a colour for each vertex")
        while start < n:
            stop = min(n, start + PIECE // 8)
            PyErr_CheckSignals()
            with nogil:
                dpf_boundary(&self.graph, start, stop, &out[0])
            start = stop

    def cross(self, const uint8_t[::1] is_given not None, const uint64_t[::1] given not None, uint64_t[::1] words not None,
              uint8_t[::1] missing not None):
        """Lower words by what given vertices of the other colour allow; mark ends of crossing edges without a given one."""
        cdef int64_t n = words.shape[0], start = 0, stop
        self.hold(n)
        need(is_given.shape[0] == n and given.shape[0] == n and missing.shape[0] == n, "an entry for each vertex")
        need(self.graph.colours != NULL or n == 0, "a colour for each vertex")
        while start < n:
            stop = min(n, start + PIECE // 8)
            PyErr_CheckSignals()
            with nogil:
                dpf_cross(&self.graph, &is_given[0], &given[0], start, stop, &words[0], &missing[0])
            start = stop

    def unproved(self, const uint64_t[::1] keys not None, int64_t row, int64_t arc, int64_t[::1] out not None):
        """List arcs from `arc` on, in `row`, that the law does not prove: (how many, row and arc to go on with)."""
        cdef int64_t n = keys.shape[0], stop, filled = 0
        self.hold(n)
        need(out.shape[0] > 0, "room for an arc")
        while row < n and filled == 0:
            stop = min(n, row + PIECE // 8)
            PyErr_CheckSignals()
            with nogil:
                filled = dpf_unproved(&self.graph, &keys[0], &row, &arc, stop, &out[0], out.shape[0])
        return filled, row, arc
