"""``python -m dpfast`` is the ``dpfast`` command."""

from __future__ import annotations

import sys

from dpfast.cli import main

if __name__ == "__main__":
    sys.exit(main())
