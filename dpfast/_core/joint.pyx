# The binding of joint quantiles and of triangles: checks lengths, releases the GIL, calls C. No algorithms.
cimport cython
from libc.stdint cimport int32_t, int64_t, uint8_t, uint32_t, uint64_t

from dpfast._core._need cimport need


# Joint quantiles. Wide numbers come as rows of two doubles: the mantissa, and the exponent in the first half of the other.
cdef extern from "joint.h" nogil:
    ctypedef struct dpf_wide:
        double m
        int32_t e

    ctypedef struct dpf_joint_powers:
        double ratio
        size_t span
        dpf_wide *low
        size_t n_high
        dpf_wide *high

    ctypedef struct dpf_joint_row:
        const dpf_joint_powers *powers
        const dpf_wide *before
        dpf_wide *after
        size_t n
        size_t whole
        double near
        double far
        dpf_wide *scratch
        dpf_wide *totals
        size_t at

    void dpf_joint_fill_powers(dpf_joint_powers *) noexcept
    void dpf_joint_advance(dpf_joint_row *, size_t) noexcept
    void dpf_joint_first(const dpf_joint_powers *, size_t, double, double, dpf_wide *, size_t, size_t) noexcept
    size_t DPF_JOINT_BLOCK
    void dpf_joint_weights(const double *, const dpf_wide *const *, const dpf_wide *, size_t, const dpf_wide *, dpf_wide *,
                           uint8_t *, size_t, size_t) noexcept
    void dpf_joint_block_sums(const dpf_joint_powers *, const dpf_wide *, size_t, size_t, size_t, double, double, size_t,
                              size_t, size_t, dpf_wide *) noexcept


JOINT_BLOCK = DPF_JOINT_BLOCK

cdef enum:
    JOINT_MOST = 1024 # quantiles of one call


cdef dpf_wide *wide(double[:, ::1] numbers, size_t least) except NULL:
    need(numbers.shape[1] == 2 and <size_t>numbers.shape[0] >= least and numbers.shape[0] > 0, "too few wide numbers")
    return <dpf_wide *>&numbers[0, 0]


@cython.final
cdef class JointPowers:
    """Powers of a ratio from 2^-256 to 1, up to exponents below `most`."""
    cdef dpf_joint_powers powers
    cdef object low, high
    cdef readonly size_t most

    def __cinit__(self, double ratio, size_t span, size_t most, double[:, ::1] low not None, double[:, ::1] high not None):
        need(2.0 ** -256 <= ratio <= 1.0 and span > 0, "a ratio must lie between 2^-256 and 1")
        self.powers.ratio, self.powers.span, self.powers.n_high = ratio, span, most // span + 1
        self.powers.low = wide(low, span + 1)
        self.powers.high = wide(high, self.powers.n_high)
        self.low, self.high, self.most = low, high, most
        dpf_joint_fill_powers(&self.powers)

    def first(self, size_t whole, double near, double far, double[:, ::1] out not None, size_t start, size_t stop):
        """out[i] = ratio^|i - t| for i = start .. stop - 1, with t as in JointRow."""
        need(start < stop <= self.most and whole < self.most, "a row is longer than the powers")
        cdef dpf_wide *sums = wide(out, stop)
        with nogil:
            dpf_joint_first(&self.powers, whole, near, far, sums, start, stop)

    def block_sums(self, double[:, ::1] weights not None, size_t ahead, size_t stop, size_t whole, double near, double far,
                   size_t span, size_t first, double[:, ::1] out not None):
        """Sums of weights[i] * ratio^|ahead - i - t| over blocks of `span` cells below `stop`, from block `first` on."""
        cdef size_t last = first + <size_t>out.shape[0]
        need(stop <= ahead + 1 <= self.most and whole < self.most and span > 0 and out.shape[0] > 0
             and last - 1 <= (stop - 1) // span and stop > 0, "blocks beyond the cells")
        cdef dpf_wide *cells = wide(weights, stop)
        cdef dpf_wide *sums = wide(out, 1)
        with nogil:
            dpf_joint_block_sums(&self.powers, cells, ahead, stop, whole, near, far, span, first, last, sums)


@cython.final
cdef class JointRow:
    """Sums over i' < i of before[i'] * ratio^|i - i' - t|, t = whole + fraction; near and far are the ratio to the power of
    fraction and of 1 - fraction."""
    cdef dpf_joint_row row
    cdef object held

    def __cinit__(self, JointPowers powers not None, double[:, ::1] before not None, double[:, ::1] after not None, size_t whole,
                  double near, double far, double[:, ::1] scratch not None, double[:, ::1] totals not None):
        cdef size_t n = before.shape[0]
        need(n <= powers.most and whole < powers.most, "a row is longer than the powers")
        self.row.powers, self.row.n, self.row.whole, self.row.near, self.row.far = &powers.powers, n, whole, near, far
        self.row.before, self.row.after = wide(before, 1), wide(after, n)
        self.row.scratch = wide(scratch, powers.powers.span)
        self.row.totals = wide(totals, n // powers.powers.span + 2)
        self.held = (powers, before, after, scratch, totals)

    def advance(self, size_t stop):
        """Go on up to cell `stop`."""
        need(stop <= self.row.n, "a row ends with its cells")
        with nogil:
            dpf_joint_advance(&self.row, stop)


def joint_weights(const double[::1] widths not None, list sums not None, double[:, ::1] stays not None, before,
                  double[:, ::1] weights not None, uint8_t[::1] crowded not None, size_t start, size_t stop):
    """Weights of the cells from `start` to `stop` under len(sums) quantiles, the last of which lies there."""
    cdef const dpf_wide *rows[JOINT_MOST]
    cdef size_t n = widths.shape[0], j = len(sums) - 1, k
    need(0 < len(sums) <= JOINT_MOST and start < stop <= n and <size_t>crowded.shape[0] * DPF_JOINT_BLOCK >= n,
         "too many rows, or cells beyond them")
    for k in range(j + 1):
        rows[k] = wide(sums[k], n)
    cdef dpf_wide *ahead = wide(stays, j + 1)
    cdef dpf_wide *earlier = NULL
    if before is not None and j:
        earlier = wide(before, n)
    cdef dpf_wide *out = wide(weights, n)
    with nogil:
        dpf_joint_weights(&widths[0], rows, ahead, j, earlier, out, &crowded[0], start, stop)


cdef extern from "triangles.h" nogil:
    ctypedef struct dpf_graph:
        const int64_t *offsets
        const int32_t *around
        size_t n, n_heavy
        uint32_t *marks
        int32_t *shared
        int32_t *touched
        const uint8_t *spared

    uint64_t dpf_triangles(const dpf_graph *, size_t, size_t) noexcept
    void dpf_triangle_stairs(const dpf_graph *, int64_t *, size_t, size_t, size_t) noexcept
    int dpf_triangle_strangers(const dpf_graph *, int64_t *, size_t, size_t) noexcept


@cython.final
cdef class TriangleGraph:
    """A simple graph: vertices by falling degree, the neighbours of each in ascending order, vertices that pairs may leave out,
    and how many vertices are heavy.
    """
    cdef dpf_graph graph
    cdef object held

    def __cinit__(self, const int64_t[::1] offsets not None, const int32_t[::1] around not None, uint32_t[::1] marks not None,
                  int32_t[::1] shared not None, int32_t[::1] touched not None, const uint8_t[::1] spared not None, size_t n_heavy):
        cdef size_t n = marks.shape[0]
        need(0 < n < 1 << 31 and <size_t>offsets.shape[0] == n + 1 and <size_t>shared.shape[0] == n
             and <size_t>touched.shape[0] == n and <size_t>spared.shape[0] == n and around.shape[0] > 0, "a graph needs offsets and room for each vertex")
        cdef size_t i
        cdef int64_t e
        for i in range(n):
            need(0 <= offsets[i] <= offsets[i + 1] <= around.shape[0], "offsets must rise within the edges")
            need(i == 0 or offsets[i + 1] - offsets[i] <= offsets[i] - offsets[i - 1], "degrees must fall")
        for e in range(around.shape[0]):
            need(0 <= around[e] < <int32_t>n, "a neighbour is no vertex")
        self.graph.offsets, self.graph.around, self.graph.n = &offsets[0], &around[0], n
        self.graph.marks, self.graph.shared, self.graph.touched = &marks[0], &shared[0], &touched[0]
        self.graph.spared, self.graph.n_heavy = &spared[0], n_heavy
        self.held = (offsets, around, marks, shared, touched, spared)

    def triangles(self, size_t start, size_t stop):
        """Triangles whose last vertex is one of start .. stop - 1."""
        need(start <= stop <= self.graph.n, "vertices beyond the graph")
        cdef uint64_t count
        with nogil:
            count = dpf_triangles(&self.graph, start, stop)
        return count

    def stairs(self, int64_t[::1] stairs not None, size_t start, size_t stop):
        """Raise stairs[a] to the largest b of pairs with a or more common neighbours whose last vertex is in start .. stop - 1."""
        self.need_stairs(stairs, start, stop)
        with nogil:
            dpf_triangle_stairs(&self.graph, &stairs[0], stairs.shape[0], start, stop)

    def strangers(self, int64_t[::1] stairs not None, size_t start, size_t stop):
        """The same for pairs without common neighbours whose first vertex is there; False when later ones cannot matter."""
        self.need_stairs(stairs, start, stop)
        cdef int goes_on
        with nogil:
            goes_on = dpf_triangle_strangers(&self.graph, &stairs[0], start, stop)
        return bool(goes_on)

    cdef int need_stairs(self, int64_t[::1] stairs, size_t start, size_t stop) except -1:
        need(start <= stop <= self.graph.n and stairs.shape[0] > self.graph.offsets[1] - self.graph.offsets[0],
             "vertices beyond the graph, or too few stairs")
        return 0
