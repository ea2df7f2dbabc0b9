"""Traces of attacks as data: records of Azure's logs, and what a person expects of them.

A file of `harm/` has `name`, `harm` (what is done), `source` (the page that shows the record's
shape), `expects` (detections, one of which finds it, the least severity, and the second `after`
which a finding counts: what leads up to the attack proves nothing) and `events`: records
with the second at which the first stands (`at`), how many there are (`times`) and the seconds
between two (`every`). In a record `{time}`, `{n}` and `{id}` stand for the time, the number and an
id of its own. Which is not found says why: `missed`.

All but four were written from the pages before anybody looked at what the detections do.
"""

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from core.base.ids import stable_id
from core.weights.documents.events import Severity
from tests.harness.worlds.storage_logs import BEGIN_MS, log_time

_PLACES: Final = re.compile(r"\{(?:time|n|id)\}")

HARM: Final = Path(__file__).with_name("harm")


@dataclass(frozen=True)
class Trace:
    """An attack in the records of its logs."""

    name: str
    harm: str
    source: str
    expects: frozenset[str]
    severity: Severity
    after_ms: int
    missed: str
    events: tuple[dict[str, Any], ...]

    def records(self) -> Iterator[bytes]:
        """Yield its records as JSON, by time."""
        made = [
            (event["at"] + number * event["every"], number, json.dumps(event["record"]))
            for event in self.events
            for number in range(event["times"])
        ]
        for serial, (second, number, text) in enumerate(sorted(made, key=lambda one: one[0])):
            time_ms = BEGIN_MS + second * 1000
            told = {
                "{time}": log_time(time_ms),
                "{n}": f"{number:05d}",
                "{id}": stable_id(time_ms, self.name, str(serial)),
            }
            yield _filled(text, told).encode()


def _filled(text: str, told: Mapping[str, str]) -> str:
    """Put words into their places."""
    return _PLACES.sub(lambda found: told[found[0]], text)


def read_trace(path: Path) -> Trace:
    """Read the trace of a file."""
    told = json.loads(path.read_text())
    return Trace(
        name=told["name"],
        harm=told["harm"],
        source=told["source"],
        expects=frozenset(told["expects"]["any"]),
        severity=Severity(told["expects"]["severity"]),
        after_ms=BEGIN_MS + told["expects"].get("after", 0) * 1000,
        missed=told.get("missed", ""),
        events=tuple(told["events"]),
    )


TRACES: Final = tuple(read_trace(path) for path in sorted(HARM.glob("*.json")))
