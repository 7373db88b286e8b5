"""Slow, obvious, exact twins of what dpfast computes: integers, fractions and lists, nothing compiled.

They are written from the definitions, to be read, and share no code with the rest of the package: where the fast path
and its twin differ, one of them is wrong. Use them to check a release by hand, or a port to another language.

- `dpfast.reference.response`: the law of randomised response, as a table of integers and word by word.
- `dpfast.reference.matrix`: the law of any parent matrix, and privacy by trying every event.
- `dpfast.reference.words`: subkeys, the random words of rows and identifiers, and digests, byte by byte.
- `dpfast.reference.sanitise`: a whole column, list in and list out.
- `dpfast.reference.histogram`: a sanitised histogram from the true one, bit by bit.
- `dpfast.reference.duff`: distances from data set to data set, the law of levels in integers, and the race to many digits.
"""

from __future__ import annotations
