"""A gate and its auditor of different releases, as processes on loopback."""

from collections.abc import Mapping
from pathlib import Path

from tests.compat.releases import environment
from tests.harness.programs.ports import free_ports
from tests.harness.programs.process import ServerProcess
from tests.harness.programs.recorded import PROGRAM, START_S, Recorded


class TwoReleases(Recorded):
    """As Recorded; `code` names the folder of the release that a process is of, now's without."""

    def __init__(self, folder: Path) -> None:
        """Prepare; nothing is started."""
        super().__init__(folder)
        self.code: dict[str, Path] = {}

    def wait_for_refusal(self, words: str) -> None:
        """Start the auditor, wait until its log has these words, and end it."""
        log = self._folder / "refused.log"
        ledger = f"sqlite:///{self.database}"
        settings = self.certificates.auditor(self.auditor_port, ledger)
        process = ServerProcess(
            "auditor",
            [PROGRAM, "auditor"],
            log,
            {
                "SALLYPORT_STATUS__PORT": str(free_ports(1)[0]),
                **settings,
                **environment(self.code["auditor"]),
            },
        )
        try:
            process.wait_until(lambda: words in log.read_text(), START_S)
        finally:
            process.stop()

    def _start(self, name: str, flags: list[str | Path], settings: Mapping[str, str]) -> None:
        own = environment(self.code[name]) if name in self.code else {}
        super()._start(name, flags, {**settings, **own})
