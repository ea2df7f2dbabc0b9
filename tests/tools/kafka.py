"""Provide the Kafka broker that Sallyport is tested with: Event Hubs speaks its protocol.

    python tests/tools/kafka.py

prints the folder of its jars. It is taken from SALLYPORT_KAFKA (the `libs` of a Kafka release),
else fetched by Maven from the `pom.xml` of `kafka-broker`, into the cache beside the other
tools; each jar must have the digest of `jars.sha256`, and no other jar may come.
"""

import hashlib
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).parents[2]))

from tests.tools.debian import run, say
from tests.tools.provide import CannotProvideError, cache_folder, locked

HERE: Final = Path(__file__).resolve().parent / "kafka-broker"
ENVIRONMENT: Final = "SALLYPORT_KAFKA"
OLDEST_JAVA: Final = 17
"""Kafka 4's brokers need it."""

_PLUGIN: Final = "org.apache.maven.plugins:maven-dependency-plugin:3.8.1:copy-dependencies"
_BROKER: Final = "kafka-server-*.jar"


@dataclass(frozen=True)
class KafkaPrograms:
    """What runs a broker."""

    java: Path
    jars: Path
    """A folder; all of it is the class path."""


def provide_kafka() -> KafkaPrograms:
    """Return the broker, fetching it if need be.

    Raises:
        CannotProvideError: there is no Java or no Maven, or what came is not what is pinned.
    """
    java = _java()
    named = os.environ.get(ENVIRONMENT)
    if not named:
        return KafkaPrograms(java, _fetched())
    folder = Path(named).absolute()
    if not any(folder.glob(_BROKER)):
        raise CannotProvideError(
            f"{ENVIRONMENT}={named}: no {_BROKER} in it: correct it, or unset it and Maven "
            "fetches the broker"
        )
    return KafkaPrograms(java, folder)


def _java() -> Path:
    found = shutil.which("java")
    wanted = f"install a Java runtime, {OLDEST_JAVA} or newer, for the Kafka broker"
    if found is None:
        raise CannotProvideError(f"java is missing: {wanted}")
    done = subprocess.run([found, "-version"], capture_output=True, text=True, check=False)
    match = re.search(r'version "(\d+)', done.stderr)
    if match is None or int(match[1]) < OLDEST_JAVA:
        raise CannotProvideError(f"{found} is too old: {wanted}")
    return Path(found)


def is_cached() -> bool:
    """Return whether the broker was fetched, there is a Java and the environment names no other."""
    return not os.environ.get(ENVIRONMENT) and bool(shutil.which("java")) and _jars().exists()


def _jars() -> Path:
    """Return the folder of the cache that has the pinned jars, or will."""
    key = hashlib.sha256(repr(sorted(_pinned().items())).encode()).hexdigest()[:12]
    return cache_folder() / f"kafka-{key}" / "jars"


def _fetched() -> Path:
    jars = _jars()
    cache = jars.parent
    if not jars.exists():
        if shutil.which("mvn") is None:
            raise CannotProvideError(
                "mvn is missing: install Maven, which fetches the Kafka broker, or set "
                f"{ENVIRONMENT} to the libs folder of a Kafka release"
            )
        cache.mkdir(parents=True, exist_ok=True)
        with locked(cache / "lock"):
            if not jars.exists():
                _fetch(jars, _pinned())
    return jars


def _pinned() -> Mapping[str, str]:
    """Return the digest of each jar, by its name."""
    lines = (HERE / "jars.sha256").read_text().splitlines()
    return {name: digest for digest, name in (line.split() for line in lines)}


def _fetch(jars: Path, pinned: Mapping[str, str]) -> None:
    """Have Maven bring the jars, check each, and put the folder in place in one step."""
    say("fetching the Kafka broker with Maven, once, 45 MB")
    with tempfile.TemporaryDirectory(dir=jars.parent) as work:
        made = Path(work) / "jars"
        pom = Path(work) / "pom.xml"
        shutil.copyfile(HERE / "pom.xml", pom)
        options = [f"-DoutputDirectory={made}", "-DincludeScope=runtime"]
        run(["mvn", "--batch-mode", "--quiet", "--file", pom, _PLUGIN, *options])
        found = {jar.name: _digest(jar) for jar in made.iterdir()}
        if wrong := sorted(found.items() ^ pinned.items()):
            raise CannotProvideError(
                f"these jars are not what {HERE.name}/jars.sha256 pins: "
                f"{', '.join(sorted({name for name, _ in wrong}))}: was pom.xml changed?"
            )
        made.rename(jars)


def _digest(jar: Path) -> str:
    return hashlib.sha256(jar.read_bytes()).hexdigest()


def main() -> int:
    """Print the folder of the jars."""
    try:
        programs = provide_kafka()
    except CannotProvideError as error:
        say(f"kafka.py: {error}")
        return 1
    print(programs.jars)
    return 0


if __name__ == "__main__":
    sys.exit(main())
