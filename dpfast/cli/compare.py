"""``dpfast compare``: errors of private medians, Duff's and others', on data sets at hand."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dpfast.cli._output import add_json, print_json, print_table
from dpfast.cli.plan import positive
from dpfast.cli.quantile import pair
from dpfast.errors import ArgumentError, MissingPackageError

if TYPE_CHECKING:
    import pyarrow as pa

    from dpfast.etl.jobs import AtomicFile

__all__ = ["add_verbs"]

EXAMPLE = """examples:
  dpfast compare --epsilons 0.1 1 --trials 1000
  dpfast compare --mechanisms duff smooth_cauchy smooth_cauchy/exact --plot figure.svg --table errors.parquet
  dpfast compare flights.parquet --column dep_delay --bounds=-60,600

Without FILE on data that hold no secret: synthetic ones, and public ones where they are installed. With one, on a column of it:
what is then printed or written says how the data lie about their median; it is private, and for the operator. Mechanisms: duff,
piecewise_laplace, laplace, smooth_cauchy, smooth_student_t, smooth_polyplace, smooth_laplace, smooth_laplace_lognormal,
propose_test_release; /exact behind a name takes the sharpest constants, /oracle those that suit the data best (known to be
private for Cauchy, Student's and Laplace noise only)."""

EPSILONS = (0.01, 0.03, 0.1, 0.3, 1.0, 3.0)
ENDINGS = (".svg", ".pdf", ".png")


def add_verbs(verbs: Any) -> None:
    """Add the verb to the command."""
    verb = verbs.add_parser("compare", help="errors of private medians by Duff and by others", epilog=EXAMPLE)
    verb.add_argument("file", metavar="FILE", nargs="?", help="a Parquet file (default: data that hold no secret)")
    verb.add_argument("--column", metavar="NAME", help="with FILE: the column of numbers")
    verb.add_argument("--bounds", metavar="LOW,HIGH", type=pair, help="with FILE: public; values outside are clipped")
    verb.add_argument(
        "--rows", type=positive, metavar="N", default=1000, help="rows of each data set without FILE (default 1000)"
    )
    verb.add_argument("--epsilons", type=float, nargs="+", metavar="E", default=EPSILONS, help="default: 0.01 to 3")
    verb.add_argument("--delta", type=float, metavar="D", default=1e-6, help="of the mechanisms that need one (default 1e-6)")
    verb.add_argument("--trials", type=positive, metavar="N", default=1000, help="answers of each mechanism (default 1000)")
    verb.add_argument("--mechanisms", nargs="+", metavar="NAME", help="default: all, see below")
    verb.add_argument("--neighbours", choices=("add_remove", "replace_one"), default="add_remove", help="default: add_remove")
    verb.add_argument("--plot", metavar="FILE", help=f"draw mean errors against epsilon ({', '.join(ENDINGS)}; needs matplotlib)")
    verb.add_argument("--table", metavar="FILE", help="write all figures to a Parquet file")
    verb.add_argument("--insecure-seed", type=int, metavar="N", help="the same figures again; nothing here is released")
    verb.add_argument("--no-progress", action="store_true", help="show no progress bar")
    add_json(verb, "print JSON; private where FILE is")
    verb.set_defaults(run=_compare, verb=verb)


def _compare(options: argparse.Namespace) -> int:
    from dpfast.baselines import compare, datasets
    from dpfast.randomness import Stream

    given = [options.file, options.column, options.bounds]
    if any(one is None for one in given) and any(one is not None for one in given):
        options.verb.error("FILE, --column and --bounds go together")
    if options.plot is not None and Path(options.plot).suffix not in ENDINGS:
        options.verb.error(f"--plot: the name must end with {', '.join(ENDINGS)}")
    if options.plot is not None:
        _matplotlib()
    targets = {name: _target(name, options) for name in (options.table, options.plot) if name is not None}
    found = datasets(options.rows) if options.file is None else {options.column: (_column(options), options.bounds)}
    table = compare(
        found,
        epsilons=options.epsilons,
        trials=options.trials,
        mechanisms=options.mechanisms,
        neighbours=options.neighbours,
        delta=options.delta,
        rng=None if options.insecure_seed is None else Stream.insecure(options.insecure_seed),
        progress=False if options.no_progress or options.json else None,
    )
    if options.table is not None:
        _write(targets[options.table], table)
    if options.plot is not None:
        _draw(targets[options.plot], Path(options.plot).suffix[1:], table)
    if options.json:
        print_json(table.to_pylist())
        return 0
    heads = ["dataset", "mechanism", "epsilon", "mean error", "median", "95 %", "ranks", "refusals"]
    names = ["error_mean", "error_median", "error_q95", "rank_error"]
    rows = [
        (
            row["dataset"],
            row["mechanism"],
            f"{row['epsilon']:g}",
            *map(_figure, (row[name] for name in names)),
            str(row["refusals"]),
        )
        for row in table.to_pylist()
    ]
    print_table(heads, rows, labels=2)
    return 0


def _figure(number: float | None) -> str:
    return "-" if number is None else f"{number:.3g}"


def _column(options: argparse.Namespace) -> pa.ChunkedArray:
    import pyarrow as pa

    from dpfast._parquet import ParquetSource

    with ParquetSource(options.file) as file:
        if options.column not in file.schema.names:
            raise ArgumentError(f"the file has no column named {options.column!r}")
        parts = [batch.column(options.column) for batch in file.batches([options.column])]
        return pa.chunked_array(parts, file.schema.field(options.column).type)


def _target(name: str, options: argparse.Namespace) -> AtomicFile:
    from dpfast.etl.jobs import AtomicFile

    return AtomicFile(name, sources=[] if options.file is None else [Path(options.file)], overwrite=True)


def _write(target: AtomicFile, table: pa.Table) -> None:
    import pyarrow.parquet as pq

    with target as file:
        pq.write_table(table, file)
        target.commit()


def _matplotlib() -> Any:
    try:
        from matplotlib import figure
    except ImportError:
        raise MissingPackageError("--plot needs matplotlib: pip install 'dpfast[plot]'") from None
    return figure


def _draw(target: AtomicFile, kind: str, table: pa.Table) -> None:
    """Mean errors against epsilon, one panel for each data set, under one legend; without a display and without global state."""
    from dpfast import plots

    names = list(dict.fromkeys(table["dataset"].to_pylist()))
    across = min(len(names), 3)
    down = -(-len(names) // across)
    drawing = _matplotlib().Figure(figsize=(4.2 * across, 3.4 * down + 0.8), layout="constrained")
    panels = drawing.subplots(down, across, squeeze=False, sharex=True).ravel()
    for panel, name in zip(panels, names, strict=False):
        plots.errors(table, dataset=name, error="error_mean", ax=panel)
        labels = [text.get_text() for text in panel.get_legend().get_texts()]
        panel.get_legend().remove()
    for panel in panels[len(names) :]:
        panel.set_axis_off()
    drawing.legend(panels[0].get_lines(), labels, loc="outside lower center", ncols=4, fontsize="small")
    dates = {"svg": {"Date": None}, "pdf": {"CreationDate": None}}
    with target as file:
        drawing.savefig(file, format=kind, metadata=dates.get(kind))
        target.commit()
