"""`make tools`: build and fetch what `make test` needs from outside the repository, each once.

What is in the cache is not touched. The rest is built or fetched, as much at once as there are
processors, and each has a line when it is there.
"""

import os
import re
import shutil
import sys
import threading
import time
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path
from typing import Final

from deploy.image import debian as image_packages
from deploy.image import wheels as image_wheels
from tests.tools import bom_schema, debian, definitions, kafka, postgres, provide
from tests.tools.program import Program
from tests.tools.programs import PROGRAMS
from tests.tools.provide import HERE, CannotProvideError, pinned_version

_REQUIREMENTS: Final = HERE.parents[1] / "requirements" / "runtime.txt"
_MODULES: Final = (
    ("cert-manager", "github.com/cert-manager/cert-manager"),
    ("jobset", "sigs.k8s.io/jobset"),
    ("kube-apiserver", "k8s.io/pod-security-admission"),
    ("opa", "github.com/open-policy-agent/opa"),
    ("openreports", "github.com/openreports/reports-api"),
    ("policy-crds", "github.com/cilium/cilium"),
    ("policy-crds", "sigs.k8s.io/network-policy-api"),
    ("prometheus-operator", "github.com/prometheus-operator/prometheus-operator"),
    ("ray-operator", "github.com/ray-project/kuberay/ray-operator"),
    ("sarif", "github.com/owenrumney/go-sarif/v3"),
)
"""Go modules whose files the tests read, each after the folder of the `go.mod` that pins it."""


@dataclass(frozen=True)
class Need:
    """One thing that the tests need."""

    name: str
    queue: str
    """Those of one queue come one after another: they are built of the same packages, which Go then
    compiles once, or fetched from the same server."""
    is_cached: Callable[[], bool]
    provide: Callable[[], object]
    minutes: float = 0.1
    """What it takes on two cores, about."""


def needs() -> list[Need]:
    """Return all that `make test` needs."""
    programs = [_program(each) for each in PROGRAMS.values() if each.is_tested_with]
    modules = [
        Need(
            module,
            "modules",
            partial(_is_downloaded, folder, module),
            partial(_download, folder, module),
        )
        for folder, module in _MODULES
    ]
    packages = [
        Need(name, "debian", partial(_is_unpacked, name), partial(debian.provide_packages, name))
        for name in debian.PACKAGES
    ]
    return [
        *programs,
        Need("kafka", "maven", kafka.is_cached, kafka.provide_kafka, 0.5),
        Need("postgres", "debian", postgres.is_cached, postgres.provide_postgres, 0.5),
        *packages,
        Need("image packages", "debian", _has_image_packages, _fetch_image_packages, 0.5),
        Need(
            "image wheels",
            "python",
            lambda: image_wheels.wheels_folder(_REQUIREMENTS).exists(),
            lambda: image_wheels.locked_wheels(_REQUIREMENTS),
            0.5,
        ),
        Need("bill's schema", "python", bom_schema.is_cached, bom_schema.bom_schemas),
        Need("operators' kinds", "modules", definitions.is_cached, definitions.published, 2),
        *modules,
    ]


def _program(program: Program) -> Need:
    return Need(
        program.name,
        program.module,
        partial(provide.is_cached, program),
        partial(provide.provide, program.name),
        program.minutes,
    )


def _is_unpacked(name: str) -> bool:
    return debian.packages_folder(name).exists()


def _has_image_packages() -> bool:
    return all(map(image_packages.is_cached, image_packages.read_lock()))


def _fetch_image_packages() -> None:
    image_packages.fetch(image_packages.read_lock())


def _is_downloaded(folder: str, module: str) -> bool:
    """Return whether Go's cache has the pinned version of a module, without asking Go for each."""
    kept, pinned = _module_cache(), pinned_version(HERE / folder, module)
    # Go writes a capital letter of a module as `!` and the small one (go.dev/ref/mod#module-cache).
    escaped = re.sub("[A-Z]", lambda found: f"!{found[0].lower()}", module)
    return bool(kept) and Path(f"{kept}/{escaped}@{pinned}").exists()


@cache
def _module_cache() -> str:
    """Return the folder of the modules that Go has downloaded; empty without Go."""
    go = shutil.which("go")
    return debian.run([go, "env", "GOMODCACHE"]).strip() if go else ""


def _download(folder: str, module: str) -> None:
    go = shutil.which("go")
    if go is None:
        raise CannotProvideError(f"{module} is a Go module, and Go is missing: install Go 1.26")
    debian.run([go, "mod", "download", module], HERE / folder)


def provide_all(wanted: Sequence[Need]) -> list[str]:
    """Provide what is not cached yet, telling of each; return what cannot be had, and why."""
    start = time.monotonic()
    missing = [need for need in wanted if not need.is_cached()]
    seconds = time.monotonic() - start
    _say(f"{len(wanted) - len(missing)} of {len(wanted)} cached, {seconds:.1f} s")
    queues: dict[str, list[Need]] = {}
    for need in missing:
        queues.setdefault(need.queue, []).append(need)
    longest_first = sorted(queues.values(), key=_minutes, reverse=True)
    interrupted = threading.Event()
    with ThreadPoolExecutor(os.cpu_count()) as side_by_side:
        try:
            work = partial(_provide_queue, interrupted=interrupted)
            problems = list(side_by_side.map(work, longest_first))
        except KeyboardInterrupt:
            interrupted.set()
            raise
    return [each for queue in problems for each in queue]


def _minutes(queue: Iterable[Need]) -> float:
    return sum(need.minutes for need in queue)


def _provide_queue(queue: Iterable[Need], interrupted: threading.Event) -> list[str]:
    """Provide one after another; return what cannot be had, and why."""
    problems = []
    for need in queue:
        if interrupted.is_set():
            break
        start = time.monotonic()
        try:
            need.provide()
        except CannotProvideError as error:
            problems.append(f"{need.name}: {error}")
            _say(f"{need.name} MISSING, {time.monotonic() - start:.1f} s")
            continue
        _say(f"{need.name} ready, {time.monotonic() - start:.1f} s")
    return problems


def _say(message: str) -> None:
    sys.stdout.write(f"tools: {message}\n")
    sys.stdout.flush()


def main() -> int:
    """Provide everything; 1 if something cannot be had."""
    problems = provide_all(needs())
    for problem in problems:
        _say(f"MISSING {problem}")
    return int(bool(problems))


if __name__ == "__main__":
    sys.exit(main())
