# The binding of Duff's core: checks lengths, releases the GIL, calls C. No algorithms.
from libc.stdint cimport int64_t, uint64_t

from dpfast.errors import ArgumentError


cdef extern from "weights.h" nogil:
    uint64_t dpf_weights_skip(uint64_t, uint64_t, uint64_t) noexcept
    uint64_t dpf_weights_fill(uint64_t, uint64_t, uint64_t *, size_t) noexcept


cdef int need(bint holds, str text) except -1:
    if not holds:
        raise ArgumentError(text)
    return 0


def weights_skip(uint64_t w, uint64_t decay, uint64_t steps):
    """The weight `steps` steps after w."""
    cdef uint64_t found
    with nogil:
        found = dpf_weights_skip(w, decay, steps)
    return found


def weights_fill(uint64_t w, uint64_t decay, uint64_t[::1] out not None):
    """Write the weights after w; the last of them is returned."""
    cdef size_t n = out.shape[0]
    cdef uint64_t last
    if n == 0:
        return w
    with nogil:
        last = dpf_weights_fill(w, decay, &out[0], n)
    return last
