"""What servers under load share: a folder, a certificate, an auditor, and how each is started."""

import datetime as dt
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

from bench.servers import (
    Server,
    auditor_for,
    free_port,
    running,
    sallyport_command,
    stage_cluster,
)
from certs.self_signed_pair import PairFiles, make_pair
from tests.harness.gate import PROGRAM

UNCACHED: Final[Mapping[str, str]] = {"SALLYPORT_EVALUATION__REMEMBERED": "0"}
"""Every review is evaluated, as if no Pod had a gang."""

_NONE: Final[Mapping[str, str]] = {}


@dataclass(frozen=True)
class Rig:
    """Starts servers; all end with `stack`."""

    stack: ExitStack
    folder: Path
    pair: PairFiles
    shipping: Mapping[str, str]
    """The settings by which a gate records, and ships to the auditor; without the spool's place."""
    cluster: Path
    """A folder with the example cluster, and the gang's Job."""

    def start(
        self,
        name: str,
        command: Sequence[str | Path],
        port: int,
        environment: Mapping[str, str] = _NONE,
    ) -> Server:
        """Start a server; its log is `name`.log."""
        log = self.folder / f"{name}.log"
        return self.stack.enter_context(running(command, port, self.pair.ca, log, environment))

    def gate(
        self,
        name: str,
        environment: Mapping[str, str] = _NONE,
        where: Sequence[str | Path] | None = None,
        program: Sequence[str | Path] = (PROGRAM,),
    ) -> Server:
        """Start the gate as it runs in a cluster: it logs, records, and ships to an auditor.

        `where` is its flag for a folder of YAML, or for a kubeconfig; None: the example cluster.
        """
        port = free_port()
        where = where or ("--cluster", self.cluster)
        command = sallyport_command(self.pair.certificate, self.pair.key, port, where, program)
        own = {
            "SALLYPORT_SPOOL__FOLDER": str(self.folder / f"{name}-spool"),
            "SALLYPORT_LISTEN__DRAIN_SECONDS": "0",
        }
        return self.start(name, command, port, {**self.shipping, **own, **environment})


@contextmanager
def rig() -> Iterator[Rig]:
    """Yield a rig; all that it started has ended afterwards."""
    with TemporaryDirectory(prefix="sallyport-bench-") as scratch, ExitStack() as stack:
        folder = Path(scratch)
        pair = make_pair(folder, ["127.0.0.1"], dt.timedelta(days=1))
        record = folder / "record"
        record.mkdir()
        _, shipping = auditor_for(stack, record)
        yield Rig(stack, folder, pair, shipping, stage_cluster(folder / "cluster"))


def say(text: str) -> None:
    """Tell whoever waits how far it is."""
    print(text, file=sys.stderr, flush=True)
