# The binding of medians and quantiles: passes over values, groups of them, and draws from windows of the sorted data.
# Checks lengths, releases the GIL, calls C. No algorithms.
cimport cython
from cpython.mem cimport PyMem_RawCalloc, PyMem_RawFree
from libc.stdint cimport int32_t, int64_t, uint8_t, uint32_t, uint64_t

from dpfast._core._need cimport need


cdef extern from "select.h" nogil:
    int DPF_TYPES, DPF_COUNTS, DPF_LIMITS, DPF_KEPT
    void dpf_scan(int, const void *, size_t, const void *, void *, uint64_t *, int) noexcept


cdef extern from "select_window.h" nogil:
    ctypedef struct dpf_quantile_t:
        const uint64_t *weights
        uint64_t last
        uint64_t top
        uint64_t bottom
        uint64_t points
        int fixed

    ctypedef struct dpf_window_t:
        const int64_t *points
        const uint64_t *upto
        size_t size
        uint64_t below
        uint64_t n

    int DPF_AGAIN, DPF_FOUND, DPF_FAR
    uint64_t dpf_quantile_distance(const dpf_quantile_t *, uint64_t, uint64_t, uint64_t) noexcept
    void dpf_windows_total(const dpf_quantile_t *, const dpf_window_t *, size_t, uint64_t *) noexcept
    int dpf_window_draw(const dpf_quantile_t *, const dpf_window_t *, const uint64_t *, const uint64_t *, int64_t *) noexcept


cdef extern from "groups.h" nogil:
    size_t dpf_snap_f64(const double *, size_t, double, int32_t, int32_t, uint32_t *, int) noexcept
    size_t dpf_snap_f32(const float *, size_t, double, int32_t, int32_t, uint32_t *, int) noexcept
    void dpf_code_i64(const int64_t *, size_t, int64_t, const uint32_t *, size_t, uint32_t, uint32_t *) noexcept
    void dpf_code_i32(const int32_t *, size_t, int64_t, const uint32_t *, size_t, uint32_t, uint32_t *) noexcept
    size_t DPF_DIGIT
    void dpf_group_count(const uint32_t *, size_t, unsigned, uint64_t *) noexcept
    void dpf_group_spread(const uint32_t *, const uint32_t *, size_t, unsigned, unsigned, uint64_t *, uint32_t *) noexcept
    void dpf_group_order(uint32_t *, size_t, unsigned, unsigned, uint32_t *, uint32_t *, uint64_t *) noexcept
    void dpf_group_scatter_u32(const uint32_t *, const uint32_t *, size_t, uint64_t *, uint32_t *) noexcept
    void dpf_group_scatter_i64(const uint32_t *, const int64_t *, size_t, uint64_t *, int64_t *) noexcept
    size_t dpf_group_window_u32(uint32_t *, size_t, size_t, size_t, int64_t *, uint64_t *, uint64_t *) noexcept
    size_t dpf_group_window_i64(int64_t *, size_t, size_t, size_t, int64_t *, uint64_t *, uint64_t *) noexcept


SCAN_TYPES = ("i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "f4", "f8")
SCAN_COUNTS = DPF_COUNTS
AGAIN, FOUND, FAR = DPF_AGAIN, DPF_FOUND, DPF_FAR


def scan(int kind, const uint8_t[::1] values not None, const uint8_t[::1] limits not None, uint8_t[::1] kept not None,
         uint64_t[::1] counts not None, bint plain=False):
    """One pass over the bytes of values of type number `kind`; see select.h."""
    need(0 <= kind < DPF_TYPES, "there is no such type of values")
    cdef size_t width = int(SCAN_TYPES[kind][1])
    cdef size_t n = values.shape[0] // width
    need(values.shape[0] % width == 0 and <size_t>limits.shape[0] == DPF_LIMITS * width, "bytes that are no values of this type")
    need(counts.shape[0] == DPF_COUNTS and kept.shape[0] // width >= counts[DPF_KEPT] + n, "there is no room for the values kept")
    if n == 0:
        return
    with nogil:
        dpf_scan(kind, &values[0], n, &limits[0], &kept[0], &counts[0], plain)


def snap_floats(values not None, double scale, int32_t first, int32_t last, uint32_t[::1] out not None, bint plain=False):
    """Grid indices of float32 or float64 values on a grid of a power of two; returns how many were NaN: 2^32 - 1."""
    cdef int32_t most = <int32_t>1 << 30
    need(-most < first <= last < most, "this grid does not fit 31 bits")
    cdef const double[::1] doubles
    cdef const float[::1] singles
    cdef size_t n = out.shape[0], strangers = 0
    need(len(values) == out.shape[0], "values and indices differ in length")
    if n == 0:
        return 0
    if values.dtype.itemsize == 8:
        doubles = values
        with nogil:
            strangers = dpf_snap_f64(&doubles[0], n, scale, first, last, &out[0], plain)
    else:
        singles = values
        with nogil:
            strangers = dpf_snap_f32(&singles[0], n, scale, first, last, &out[0], plain)
    return strangers


def code_integers(values not None, int64_t least, const uint32_t[::1] table not None, uint32_t other, uint32_t[::1] codes not None):
    """Codes of int64 or int32 values by a table."""
    cdef const int64_t[::1] wide
    cdef const int32_t[::1] narrow
    cdef size_t n = codes.shape[0], size = table.shape[0]
    need(len(values) == codes.shape[0] and size > 0, "values and codes differ in length, or the table is empty")
    if n == 0:
        return
    if values.dtype.itemsize == 8:
        wide = values
        with nogil:
            dpf_code_i64(&wide[0], n, least, &table[0], size, other, &codes[0])
    else:
        narrow = values
        with nogil:
            dpf_code_i32(&narrow[0], n, least, &table[0], size, other, &codes[0])


def group_count(const uint32_t[::1] codes not None, unsigned shift, uint64_t[::1] counts not None):
    """Add one to the counter of each code divided by 2^shift."""
    cdef size_t n = codes.shape[0], i
    cdef uint32_t largest = 0
    if n == 0:
        return
    with nogil:
        for i in range(n):
            largest = codes[i] if codes[i] > largest else largest
    need(shift < 32 and largest >> shift < counts.shape[0], "a code has no counter")
    with nogil:
        dpf_group_count(&codes[0], n, shift, &counts[0])


def group_scatter(const uint32_t[::1] codes not None, values not None, uint64_t[::1] places not None, out not None):
    """Put each value at the next place of its code. The places come from `group_count` of the same codes."""
    cdef size_t n = codes.shape[0]
    cdef const uint32_t[::1] narrow
    cdef uint32_t[::1] narrow_out
    cdef const int64_t[::1] wide
    cdef int64_t[::1] wide_out
    need(len(values) == codes.shape[0], "values and codes differ in length")
    if n == 0:
        return
    if values.dtype.itemsize == 4:
        narrow, narrow_out = values, out
        with nogil:
            dpf_group_scatter_u32(&codes[0], &narrow[0], n, &places[0], &narrow_out[0])
    else:
        wide, wide_out = values, out
        with nogil:
            dpf_group_scatter_i64(&codes[0], &wide[0], n, &places[0], &wide_out[0])


def group_spread(const uint32_t[::1] codes not None, const uint32_t[::1] values not None, unsigned shift, unsigned bits,
                 uint64_t[::1] places not None, uint32_t[::1] out not None):
    """Put keys of codes and values at the next places of the buckets of their codes. The places come from `group_count`."""
    cdef size_t n = codes.shape[0]
    need(values.shape[0] == codes.shape[0], "values and codes differ in length")
    need(0 < bits and shift + bits <= 32, "a key has 32 bits")
    if n:
        with nogil:
            dpf_group_spread(&codes[0], &values[0], n, shift, bits, &places[0], &out[0])


def group_order(uint32_t[::1] keys not None, const uint64_t[::1] edges not None, unsigned shift, unsigned bits,
                uint32_t[::1] spare not None, uint64_t[::1] starts not None, uint64_t[::1] sizes not None, size_t begin, size_t end):
    """Sort the keys of the buckets begin .. end-1, which lie between the edges, and leave their values.

    Of each of the 2^shift codes of a bucket, starts and sizes say where its values are.
    """
    cdef size_t bucket, first, n, codes = <size_t>1 << shift, code
    cdef bint fits = True
    cdef uint32_t ends[1 << 11]  # 2^DPF_DIGIT
    need(0 < bits and shift <= DPF_DIGIT and shift + bits <= 32, "a key has 32 bits")
    need(begin <= end < <size_t>edges.shape[0] and <size_t>starts.shape[0] == <size_t>sizes.shape[0] >= end << shift,
         "there are no such buckets, or no room for their groups")
    with nogil:
        for bucket in range(begin, end):
            first, n = edges[bucket], edges[bucket + 1] - edges[bucket]
            fits = edges[bucket] <= edges[bucket + 1] <= <size_t>keys.shape[0] and n <= <size_t>spare.shape[0] and n >> 32 == 0
            if not fits:
                break
            if n == 0:
                for code in range(codes):
                    starts[(bucket << shift) + code], sizes[(bucket << shift) + code] = first, 0
                continue
            dpf_group_order(&keys[first], n, bits, shift, &spare[0], ends, &sizes[bucket << shift])
            for code in range(codes):
                starts[(bucket << shift) + code] = first + (ends[code - 1] if code else 0)
    need(fits, "a bucket outside the keys, or without room")


@cython.final
cdef class Windows:
    """Windows of the sorted data of data sets that are drawn from alike; they borrow room given by the caller."""
    cdef dpf_window_t *windows
    cdef readonly size_t size
    cdef object owners

    def __cinit__(self, size_t size):
        self.windows = <dpf_window_t *>PyMem_RawCalloc(size if size else <size_t>1, sizeof(dpf_window_t))
        if self.windows == NULL:
            raise MemoryError
        self.size = size
        self.owners = {}

    def __dealloc__(self):
        PyMem_RawFree(self.windows)

    def put(self, size_t place, const int64_t[::1] points not None, const uint64_t[::1] upto not None, uint64_t below, uint64_t n):
        """Give one window: its points, in ascending order, the values up to each, those below the first, and all."""
        need(place < self.size and points.shape[0] == upto.shape[0], "there is no such window, or its arrays differ in length")
        cdef dpf_window_t *window = &self.windows[place]
        window.size = points.shape[0]
        window.points = &points[0] if window.size else NULL
        window.upto = &upto[0] if window.size else NULL
        window.below = below
        window.n = n
        self.owners[place] = points, upto

    def fill(self, grouped not None, const uint64_t[::1] starts not None, const uint64_t[::1] sizes not None,
             const uint64_t[::1] firsts not None, const uint64_t[::1] lasts not None, const uint64_t[::1] rooms not None,
             int64_t[::1] points not None, uint64_t[::1] upto not None, size_t begin, size_t end):
        """Make the windows begin .. end-1 of values that stand together by group, which are reordered.

        Group i is grouped[starts[i] : starts[i] + sizes[i]]; its sorted places firsts[i] .. lasts[i]-1 become its window, which lives in
        points and upto from rooms[i] on.
        """
        need(begin <= end <= self.size, "there are no such windows")
        need(<size_t>starts.shape[0] == self.size == <size_t>sizes.shape[0] and <size_t>firsts.shape[0] == self.size
             and <size_t>lasts.shape[0] == self.size and <size_t>rooms.shape[0] == self.size + 1
             and points.shape[0] == upto.shape[0], "arrays that differ in length")
        cdef uint32_t[::1] narrow
        cdef int64_t[::1] wide
        cdef bint is_narrow = grouped.dtype.itemsize == 4
        cdef size_t i, n, room = points.shape[0], total = len(grouped)
        cdef dpf_window_t *window
        cdef bint fits = True
        if is_narrow:
            narrow = grouped
        else:
            wide = grouped
        self.owners["room"] = points, upto
        with nogil:
            for i in range(begin, end):
                n = sizes[i]
                fits = starts[i] <= total and n <= total - starts[i] and firsts[i] <= lasts[i] <= n and \
                    rooms[i] <= room and lasts[i] - firsts[i] <= room - rooms[i]
                if not fits:
                    break
                window = &self.windows[i]
                window.n = n
                window.points = &points[0] + rooms[i]
                window.upto = &upto[0] + rooms[i]
                if n == 0:
                    window.size = 0
                elif is_narrow:
                    window.size = dpf_group_window_u32(&narrow[starts[i]], n, firsts[i], lasts[i], &points[0] + rooms[i],
                                                       &upto[0] + rooms[i], &window.below)
                else:
                    window.size = dpf_group_window_i64(&wide[starts[i]], n, firsts[i], lasts[i], &points[0] + rooms[i],
                                                       &upto[0] + rooms[i], &window.below)
        need(fits, "a window outside its group, or without room")

    def window(self, size_t place):
        """Points, values up to each, values below, and all values of one window; private data."""
        need(place < self.size, "there is no such window")
        cdef dpf_window_t *window = &self.windows[place]
        cdef size_t i
        return ([window.points[i] for i in range(window.size)], [window.upto[i] for i in range(window.size)], window.below,
                window.n)


@cython.final
cdef class QuantileLaw:
    """The integer law of a quantile on a grid: weights of distances, q = top / bottom, points of the grid, kind of neighbours."""
    cdef dpf_quantile_t law
    cdef const uint64_t[::1] weights

    def __init__(self, const uint64_t[::1] weights not None, uint64_t top, uint64_t bottom, uint64_t points, bint fixed):
        cdef size_t i
        cdef uint64_t most = <uint64_t>1 << 62
        need(weights.shape[0] > 0 and 0 < bottom < most and top <= bottom and 0 < points <= most, "these integers are not a law")
        with nogil:
            for i in range(<size_t>weights.shape[0]):
                if weights[i] == 0 or weights[i] > most or (i and weights[i] > weights[i - 1]):
                    with gil:
                        need(False, "these integers are not a law")
        self.weights = weights
        self.law.weights = &weights[0]
        self.law.last = weights.shape[0] - 1
        self.law.top = top
        self.law.bottom = bottom
        self.law.points = points
        self.law.fixed = fixed

    def weight(self, uint64_t distance):
        """The weight of a distance."""
        return self.weights[min(distance, self.law.last)]

    def distance(self, uint64_t n, uint64_t less, uint64_t equal):
        """Distance of a grid point with `less` of n values below it and `equal` on it."""
        need(n < <uint64_t>1 << 48 and less + equal <= n, "more values than there are")
        return dpf_quantile_distance(&self.law, n, less, equal)

    def distances(self, uint64_t n, const uint64_t[::1] less not None, const uint64_t[::1] equal not None, uint64_t[::1] out not None):
        """Distances of many grid points."""
        need(less.shape[0] == equal.shape[0] == out.shape[0], "arrays that differ in length")
        need(n < <uint64_t>1 << 48, "more values than a law takes")
        cdef size_t i
        with nogil:
            for i in range(<size_t>less.shape[0]):
                out[i] = dpf_quantile_distance(&self.law, n, less[i], equal[i])

    def totals(self, Windows windows not None, uint64_t[:, ::1] totals not None, size_t begin, size_t end):
        """Low and high half of the total of the windows begin .. end-1."""
        need(begin <= end <= windows.size and <size_t>totals.shape[0] == windows.size and totals.shape[1] == 2,
             "there are no such windows, or no such room")
        if begin < end:
            with nogil:
                dpf_windows_total(&self.law, windows.windows + begin, end - begin, &totals[begin, 0])

    def draw(self, Windows windows not None, const uint64_t[:, ::1] totals not None, const int64_t[::1] which not None,
             const uint64_t[:, ::1] words not None, int64_t[::1] points not None, uint8_t[::1] states not None):
        """One attempt for each of the windows `which`: points[which[i]] where one is found, and states[i]."""
        cdef size_t i, g, n = which.shape[0]
        need(<size_t>totals.shape[0] == windows.size and totals.shape[1] == 2 and words.shape[1] == 2
             and <size_t>words.shape[0] == n and <size_t>states.shape[0] == n and <size_t>points.shape[0] == windows.size,
             "arrays that differ in length")
        cdef bint fits = True
        with nogil:
            for i in range(n):
                g = <size_t>which[i]
                fits = g < windows.size
                if not fits:
                    break
                states[i] = <uint8_t>dpf_window_draw(&self.law, &windows.windows[g], &totals[g, 0], &words[i, 0], &points[g])
        need(fits, "there is no such window")
