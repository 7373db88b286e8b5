"""What the driver knows of Spark: that it is there, a DataFrame's schema in Arrow's terms, and how executors come by the key.

**Keys.** A key travels as the place where executors find it: a path, or the name of an environment variable. Its bytes would
become part of a query plan, which Spark sends through its services and may write to its local folders; they are accepted only
where Spark enciphers those.
"""

from __future__ import annotations

import base64
import binascii
import os
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from dpfast._frames_spark import is_spark
from dpfast.errors import ArgumentError, ArgumentTypeError, MissingPackageError
from dpfast.keys import KEY_BYTES, resolve_key
from dpfast.randomness import Stream

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["Noise", "check_frame", "check_keeps_rows", "check_session", "is_remote", "noise_of", "spark_schema"]

OLDEST: Final = (3, 5)
ENCRYPTION: Final = "spark.io.encryption.enabled"
_ENV: Final = "env:"
_NO_KEY: Final = (
    "key= and context= are needed: Spark runs a query again for every action, every lost executor and every slow task, and noise "
    "that is drawn anew each time averages out; noise that is a function of a key is the same each time"
)


@dataclass(frozen=True, repr=False)
class Noise:
    """Where a task gets its noise from; picklable, as a Stream is not.

    Attributes
    ----------
    key : str, path or bytes
    context : str
    """

    key: str | os.PathLike[str] | bytes = field(repr=False)
    context: str = field(repr=False)

    def stream(self, first_row: int = 0) -> Stream:
        """Make the stream, on the executor."""
        return Stream(key=self.key, context=self.context, first_row=first_row)


def noise_of(spark: Any, key: object, context: object) -> Noise:
    """Check how a key is given, as far as the driver can tell: it may not be able to read it."""
    if key is None:
        raise ArgumentTypeError(_NO_KEY)
    if not isinstance(context, str):
        raise ArgumentTypeError('a key needs context=, a text that names the release or, with ids=, the population: "members"')
    if not context:
        raise ArgumentError("context is empty; it names the release or, with ids=, the population")
    if isinstance(key, bytes | bytearray | memoryview):
        raw = resolve_key(bytes(key))
        # Asked of the context: a session that is got again takes settings that come too late to have an effect.
        if is_remote(spark) or str(spark.sparkContext.getConf().get(ENCRYPTION, "")).lower() != "true":
            raise ArgumentError(
                "key is given as bytes, which Spark would store and send in clear text; give the path of a key file or "
                f"'env:NAME', which are looked up on the executors, or set {ENCRYPTION} when the session is made"
            )
        return Noise(raw, context)
    if not isinstance(key, str | os.PathLike):
        raise ArgumentTypeError("key must be the path of a key file or 'env:NAME', either of them on the executors")
    path = os.fspath(key)
    if not isinstance(path, str) or not path or "\0" in path:
        raise ArgumentError("key is not a path")
    if path.startswith(_ENV):
        _check_variable(spark, path.removeprefix(_ENV))
    elif _is_key(path):
        raise ArgumentError("key is the text of a key; give the path of a file that holds it, or 'env:NAME'")
    return Noise(path, context)


def _check_variable(spark: Any, name: str) -> None:
    if not name:
        raise ArgumentError("key is 'env:' without the name of a variable")
    for prefix in ("spark.executorEnv.", "spark.yarn.appMasterEnv.", "spark.kubernetes.driverEnv."):
        if _setting(spark, prefix + name):
            raise ArgumentError(
                f"the setting {prefix}{name} holds the key, and Spark writes its settings to the event log and shows them; "
                "give it to the executors as a secret of the cluster manager, make a new key, and drop the setting"
            )


def _is_key(text: str) -> bool:
    """Whether a text is 32 bytes in hexadecimal or base64, and so a key more likely than a path."""
    text = text.strip()  # files of keys end in a line end
    if len(text) == 2 * KEY_BYTES:
        return all(character in "0123456789abcdefABCDEF" for character in text)
    try:
        return len(base64.b64decode(text, altchars=b"-_" if set(text) & set("-_") else None, validate=True)) == KEY_BYTES
    except (binascii.Error, ValueError):
        return False


def _setting(spark: Any, name: str) -> str:
    return str(spark.conf.get(name, "") or "")


def is_remote(spark: Any) -> bool:
    """Whether a session is that of a client of Spark Connect."""
    return type(spark).__module__.startswith("pyspark.sql.connect")


def check_session(spark: Any) -> None:
    """Refuse what is no session, and a Spark that is missing or too old."""
    _check_version()
    if not (is_spark(spark) and hasattr(spark, "conf") and hasattr(spark, "range")):
        raise ArgumentTypeError(f"spark must be a SparkSession, not {type(spark).__name__}")


def check_frame(df: Any) -> None:
    """Refuse what is no DataFrame of Spark, and a Spark that is missing or too old."""
    _check_version()
    if not (is_spark(df) and hasattr(df, "mapInArrow")):
        raise ArgumentTypeError(f"df must be a DataFrame of Spark, not {type(df).__name__}; Policy.sanitise takes other tables")


def check_keeps_rows(df: Any) -> None:
    """Refuse a DataFrame of a Spark that cannot cut its lineage."""
    import pyspark

    if is_remote(df.sparkSession) and int(pyspark.__version__.split(".")[0]) < 4:
        raise MissingPackageError("a quantile through Spark Connect needs Spark 4: rows are kept between its passes")


def _check_version() -> None:
    try:
        import pyspark
    except ImportError:
        raise MissingPackageError(
            "pyspark is not installed; use the one of your cluster (3.5 or newer), or for one machine: pip install pyspark"
        ) from None
    version = tuple(int(part) for part in pyspark.__version__.split(".")[:2])
    if version < OLDEST:
        raise MissingPackageError(f"pyspark {pyspark.__version__} is too old; dpfast needs 3.5 or newer")


def spark_schema(schema: Any, planned: pa.Schema) -> Any:
    """Return the columns of a Spark schema that are published: the same types and nullability, without any metadata.

    Metadata of a column is written from data: the labels that an indexer saw, for one. Bins come out as their labels.
    """
    import pyarrow.types as t
    from pyspark.sql.types import StringType, StructField, StructType

    fields = []
    for one in planned:
        old = schema[one.name]
        becomes_text = t.is_dictionary(one.type)
        fields.append(StructField(one.name, StringType() if becomes_text else _bare(old.dataType), old.nullable))
    return StructType(fields)


def _bare(data_type: Any) -> Any:
    from pyspark.sql.types import ArrayType, MapType, StructField, StructType

    if isinstance(data_type, StructType):
        return StructType([StructField(one.name, _bare(one.dataType), one.nullable) for one in data_type.fields])
    if isinstance(data_type, ArrayType):
        return ArrayType(_bare(data_type.elementType), data_type.containsNull)
    if isinstance(data_type, MapType):
        return MapType(_bare(data_type.keyType), _bare(data_type.valueType), data_type.valueContainsNull)
    return data_type
