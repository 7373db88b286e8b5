"""The ``dpfast`` command: one verb for each thing a person does with a policy and a file.

Exit codes: 0 success, 1 the job failed, 2 the command line is wrong, 130 Ctrl-C, 143 terminated. Standard output holds the
result, standard error everything else. What ``--json`` prints may be published with the data; the rest is for the operator.
"""

from __future__ import annotations

import argparse
import os
import re
import resource
import signal
import sys
import textwrap
import threading
import traceback
import warnings
from collections.abc import Mapping, Sequence
from types import FrameType
from typing import NoReturn

import dpfast
from dpfast._text import did_you_mean
from dpfast.cli import (
    audit,
    compare,
    domain,
    estimate,
    extend,
    info,
    ledger,
    mean,
    mode,
    plan,
    quantile,
    report,
    sanitise,
    triangles,
    verify,
)
from dpfast.errors import DpfastError

__all__ = ["main"]

# In the order of `dpfast --help`.
FAMILIES = (
    plan,
    domain,
    sanitise,
    estimate,
    quantile,
    mean,
    mode,
    triangles,
    extend,
    compare,
    verify,
    report,
    audit,
    ledger,
    info,
)

# What begins so is a value and no option: `--bounds -60,600`.
NEGATIVE = re.compile(r"-\.?\d")
INTERRUPTED = 128 + signal.SIGINT
TERMINATED = 128 + signal.SIGTERM


class _Help(argparse.RawDescriptionHelpFormatter):
    """Examples, which are indented, stay as they are; what is said of them fits the terminal."""

    def _fill_text(self, text: str, width: int, indent: str) -> str:
        parts = text.split("\n\n")
        return "\n\n".join(part if "\n  " in part else textwrap.fill(part, width) for part in parts)


class _Terminated(BaseException):
    """A request to end: as for Ctrl-C, what is half done is taken back first."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command.

    Parameters
    ----------
    arguments : sequence of str, optional
        Default: those of the process.

    Returns
    -------
    int
        The exit code.

    Examples
    --------
    >>> main(["plan", "no-such-policy.toml"])
    1
    """
    parser, verbs = _parser()
    words = sys.argv[1:] if arguments is None else list(arguments)
    if not words:
        parser.print_help(sys.stderr)
        return 2
    try:
        if not words[0].startswith("-") and words[0] not in verbs:
            parser.error(f"there is no verb {words[0]!r}{did_you_mean(words[0], verbs) or '; dpfast --help lists them'}")
        options = parser.parse_args(words)
    except SystemExit as stop:
        return int(stop.code or 0)
    before = signal.getsignal(signal.SIGTERM)
    try:
        _harden()
        with warnings.catch_warnings():
            warnings.simplefilter("always")
            warnings.showwarning = _show_warning
            status = int(options.run(options))
            sys.stdout.flush()
            return status
    except SystemExit as stop:  # a verb found that its options do not fit together
        return int(stop.code or 0)
    except KeyboardInterrupt:
        _say("interrupted")
        return INTERRUPTED
    except _Terminated:
        _say("terminated")
        return TERMINATED
    except BrokenPipeError:  # the reader of our output is gone
        _give_output_up()
        return 1
    except DpfastError as error:
        _say(str(error))
        return _failed(options)
    except MemoryError:
        _say("there is not enough memory")
        return _failed(options)
    except Exception as error:
        # Its text may quote data, so it is shown on request only; what the system says of a number does not.
        reason = f", {os.strerror(error.errno)}" if isinstance(error, OSError) and error.errno else ""
        _say(f"unexpected {type(error).__name__}{reason}; run the command again with --debug to see where")
        try:
            sys.stdout.flush()
        except OSError:
            _give_output_up()
        return _failed(options)
    finally:  # a process that called us and goes on has its own way to end
        if before is not None and threading.current_thread() is threading.main_thread():
            signal.signal(signal.SIGTERM, before)


def _parser() -> tuple[argparse.ArgumentParser, Mapping[str, argparse.ArgumentParser]]:
    """The parser of the command, and those of its verbs."""
    parser = argparse.ArgumentParser(
        prog="dpfast",
        description="Differential privacy for tables: publish a file whose every row was randomised.",
        epilog="example:\n  dpfast sanitise flights.parquet released.parquet --policy policy.toml",
        formatter_class=_Help,
    )
    parser.add_argument("--version", action="version", version=f"dpfast {dpfast.__version__}")
    verbs = parser.add_subparsers(title="verbs", metavar="VERB", required=True)
    for family in FAMILIES:
        family.add_verbs(verbs)
    for verb in verbs.choices.values():
        verb._negative_number_matcher = NEGATIVE
        verb.formatter_class = _Help
        verb.add_argument("--debug", action="store_true", help="print a traceback on failure (it may show data)")
    return parser, verbs.choices


def _give_output_up() -> None:
    """Let what cannot be written go; the interpreter would complain when it flushes at its end, and change the exit code."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _harden() -> None:
    """Leave no memory image of private data behind, and take back what is half done when asked to end."""
    _, hard = resource.getrlimit(resource.RLIMIT_CORE)
    resource.setrlimit(resource.RLIMIT_CORE, (0, hard))
    if threading.current_thread() is threading.main_thread():
        signal.signal(signal.SIGTERM, _terminate)


def _terminate(number: int, frame: FrameType | None) -> NoReturn:
    raise _Terminated


def _failed(options: argparse.Namespace) -> int:
    if options.debug:
        traceback.print_exc()
    return 1


def _show_warning(message: Warning | str, *_: object, **__: object) -> None:
    _say(f"warning: {message}")


def _say(text: str) -> None:
    print(f"dpfast: {text}", file=sys.stderr)
