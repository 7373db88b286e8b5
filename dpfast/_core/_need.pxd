# What every binding asks of its arguments.
cdef inline int need(bint holds, str text) except -1:
    if not holds:
        from dpfast.errors import ArgumentError
        raise ArgumentError(text)
    return 0
