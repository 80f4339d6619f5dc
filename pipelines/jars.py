"""The jars a session adds to Spark's own: fetched once, hash-checked, then used offline."""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path

from pipelines.errors import CauceError, ConfigError, TemporaryError

LOCK = files("pipelines") / "jars.lock"  # readable where the package is a zip, too
FETCH_TIMEOUT_S = 600
# Dependencies that Spark ships itself; a second copy on the class path could differ.
SHIPPED_BY_SPARK = ("org.antlr:antlr4-runtime",)
JAVA_REMEDY = (
    "Fix: install Java 17 or 21 (Debian: apt-get install openjdk-17-jre-headless) or set JAVA_HOME"
)
REMEDY = "run `make setup` or `python -m pipelines.jars`"


@dataclass(frozen=True)
class LockedJar:
    """One line of the lock.

    Args:
        sha256: Hexadecimal hash of the file's bytes.
        coordinates: `group:artifact:version`, as Maven names it.
    """

    sha256: str
    coordinates: str

    @property
    def file_name(self) -> str:
        """The name under which Spark's Ivy delivers the jar."""
        group, artifact, version = self.coordinates.split(":")
        return f"{group}_{artifact}-{version}.jar"


def read_lock() -> tuple[LockedJar, ...]:
    """Returns the locked jars in the order of the file."""
    lines = LOCK.read_text(encoding="utf-8").splitlines()
    rows = [line.split() for line in lines if line and not line.startswith("#")]
    return tuple(LockedJar(sha256, coordinates) for sha256, coordinates in rows)


def jars_dir(environ: Mapping[str, str] = os.environ) -> Path:
    """Returns the folder of the jars: `CAUCE_JARS`, else one inside the Python environment."""
    named = environ.get("CAUCE_JARS")
    return Path(named) if named else Path(sys.prefix) / "share" / "cauce" / "jars"


def jar_paths(folder: Path | None = None) -> list[Path]:
    """Returns the locked jars' paths after checking each file's hash.

    Args:
        folder: Where they lie; by default `jars_dir()`.

    Raises:
        ConfigError: A jar is missing, or its bytes are not those of the lock.
    """
    folder = folder or jars_dir()
    return [_check_jar(folder / jar.file_name, jar) for jar in read_lock()]


def fetch_jars(folder: Path | None = None) -> list[Path]:
    """Fetches what is missing or damaged and returns `jar_paths`; no gap, no network.

    Args:
        folder: Where the jars shall lie; by default `jars_dir()`. Made when it is missing.

    Raises:
        ConfigError: Java is missing, or a fetched jar is not the locked one.
        TemporaryError: Spark's Ivy could not fetch a jar.
    """
    folder = folder or jars_dir()
    try:
        return jar_paths(folder)
    except ConfigError:
        folder.mkdir(parents=True, exist_ok=True)
    # Beside the target, so that the last step is a rename: no reader ever sees half a jar.
    with tempfile.TemporaryDirectory(dir=folder.parent) as scratch:
        _resolve(Path(scratch))
        for jar in read_lock():
            fetched = _check_jar(Path(scratch) / "ivy" / "jars" / jar.file_name, jar)
            fetched.replace(folder / jar.file_name)
    return jar_paths(folder)


def main() -> int:
    """Fetches the jars and returns the exit code."""
    try:
        for path in fetch_jars():
            sys.stdout.write(f"{path}\n")
    except CauceError as error:
        sys.stderr.write(f"{error.message}\n{error.remedy}\nExit {error.exit_code}\n")
        return error.exit_code
    return 0


def _check_jar(path: Path, jar: LockedJar) -> Path:
    if not path.is_file():
        raise ConfigError(
            f"jar {jar.coordinates} is missing", where=str(path), remedy=f"Fix: {REMEDY}"
        )
    found = hashlib.sha256(path.read_bytes()).hexdigest()
    if found != jar.sha256:
        raise ConfigError(
            f"jar {jar.coordinates} has sha256 {found}, {LOCK.name} allows {jar.sha256}",
            where=str(path),
            remedy=f"Fix: {REMEDY}",
        )
    return path


def _resolve(scratch: Path) -> None:
    """Lets `spark-submit` resolve the coordinates for a script that does nothing.

    That is Spark's own way to the jars: its resolvers, or those of the user's Spark configuration.
    """
    from pyspark.find_spark_home import _find_spark_home

    script = scratch / "nothing.py"
    script.touch()
    spark_home = _find_spark_home()
    command = [
        str(Path(spark_home) / "bin" / "spark-submit"),
        "--master=local",
        f"--packages={','.join(jar.coordinates for jar in read_lock())}",
        f"--exclude-packages={','.join(SHIPPED_BY_SPARK)}",
        f"--conf=spark.jars.ivy={scratch / 'ivy'}",
        str(script),
    ]
    environ = {**os.environ, "SPARK_HOME": spark_home, "PYSPARK_PYTHON": sys.executable}
    try:
        done = subprocess.run(
            command,
            env=environ,
            capture_output=True,
            text=True,
            timeout=FETCH_TIMEOUT_S,
            check=False,
        )
    except subprocess.TimeoutExpired as error:
        raise TemporaryError(
            f"Spark's Ivy did not end within {FETCH_TIMEOUT_S} s",
            remedy=f"Fix: check the network, then {REMEDY}",
        ) from error
    if done.returncode == 0:
        return
    if "JAVA_HOME is not set" in done.stderr or "bin/java:" in done.stderr:
        raise ConfigError(
            "Spark found no Java", where=os.environ.get("JAVA_HOME", "PATH"), remedy=JAVA_REMEDY
        )
    said = [f"  {line.strip()}" for line in done.stderr.splitlines() if "Exception" in line]
    raise TemporaryError(
        "\n".join(["Spark's Ivy could not fetch the jars:", *said[:3]]),
        remedy=f"Fix: check the network, then {REMEDY}",
    )


if __name__ == "__main__":
    sys.exit(main())
