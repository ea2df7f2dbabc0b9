"""Provide the CustomResourceDefinitions that operators publish, out of their own Go modules.

`crds/go.mod` pins the versions and `crds/go.sum` the sums. Each module is downloaded alone, without
what it depends on. Volcano's are made of its API types, with its own options, by controller-gen, as
`crds/volcano/go.mod` pins both. What is read is kept as JSON in the cache of `provide.py`: Go is
asked once.
"""

import hashlib
import json
import re
import shutil
import subprocess
import tempfile
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Any, Final

import yaml

from tests.tools.provide import HERE, CannotProvideError, cache_folder, locked

Json = dict[str, Any]
"""An object as JSON says it."""

FILES: Final[Mapping[str, str]] = MappingProxyType(
    {
        # "minimal" has no schema to speak of; "full" is what kube-apiserver checks and prunes by.
        "github.com/argoproj/argo-workflows/v3": "manifests/base/crds/full/*.yaml",
        "github.com/kserve/kserve": "config/crd/full/*.yaml",
        "github.com/kubeflow/mpi-operator": "manifests/base/kubeflow.org_*.yaml",
        "github.com/kubeflow/spark-operator/v2": "config/crd/bases/*.yaml",
        "github.com/kubeflow/trainer/v2": "manifests/base/crds/trainer.kubeflow.org_*.yaml",
        "github.com/kubeflow/training-operator": "manifests/base/crds/kubeflow.org_*.yaml",
        "github.com/project-codeflare/appwrapper": "config/crd/bases/*.yaml",
        "github.com/ray-project/kuberay/ray-operator": "config/crd/bases/*.yaml",
        "knative.dev/serving": "config/core/300-resources/*.yaml",
        "sigs.k8s.io/agent-sandbox": "k8s/crds/*.yaml",
        "sigs.k8s.io/jobset": "config/components/crd/bases/*.yaml",
        "sigs.k8s.io/lws": "config/crd/bases/*.yaml",
    }
)
"""Where each module has its CustomResourceDefinitions."""

_VOLCANO: Final = "volcano.sh/apis"
_MADE: Final = (
    "controller-gen",
    "crd:crdVersions=v1,generateEmbeddedObjectMeta=true",
    f"paths={_VOLCANO}/pkg/apis/batch/v1alpha1",
    "output:stdout",
)
"""As CRD_OPTIONS of volcano-sh/volcano's Makefile has it."""
_TIMEOUT_S: Final = 600
_PIN: Final = re.compile(r"^(\S+) (v[^\s/]+) (h1:\S+)$", re.MULTILINE)
_VALUES: Final = frozenset({"default", "enum", "example"})
"""Words of a schema whose values are objects' own, so that `description` there is a field."""


@dataclass(frozen=True)
class Published:
    """A CustomResourceDefinition as it is published, and the module that it is from."""

    module: str
    version: str
    definition: Json
    """Whole but for descriptions of fields: prose, and up to nine tenths of the bytes."""


def published() -> list[Published]:
    """Return all definitions of all modules, by module and file.

    Raises:
        CannotProvideError: Go is missing, or a module cannot be had; says which and what to do.
    """
    path = _path()
    folder = path.parent
    folder.mkdir(parents=True, exist_ok=True)
    with locked(folder / "definitions.lock"):
        if not path.exists():
            go = go_program()
            _write(path, [*_read_all(_downloaded(go, pins())), *_made(go)])
    return [Published(**each) for each in json.loads(path.read_text())]


def is_cached() -> bool:
    """Return whether they have been read."""
    return _path().exists()


def _path() -> Path:
    return cache_folder() / f"definitions-{_key()}.json"


def pins() -> dict[str, tuple[str, str]]:
    """Return each module's version and the sum of its content, as `go.sum` has them.

    Raises:
        CannotProvideError: `go.mod` and `go.sum` do not name the modules of `FILES` alike.
    """
    required = re.findall(r"^\t(\S+) (v\S+)$", (HERE / "crds" / "go.mod").read_text(), re.MULTILINE)
    sums = {
        (module, version): found
        for module, version, found in _PIN.findall((HERE / "crds" / "go.sum").read_text())
    }
    if dict(required).keys() != FILES.keys() or {*required} != sums.keys():
        raise CannotProvideError(
            "tests/tools/crds: go.mod, go.sum and definitions.py name different modules or "
            "versions: after a change of go.mod put both lines of `go mod download -json "
            "MODULE@VERSION` (Sum, GoModSum) into go.sum"
        )
    return {module: (version, sums[module, version]) for module, version in required}


def _key() -> str:
    digest = hashlib.sha256(Path(__file__).read_bytes())
    for file in ("go.mod", "go.sum", "volcano/go.mod", "volcano/go.sum"):
        digest.update((HERE / "crds" / file).read_bytes())
    return digest.hexdigest()[:12]


def go_program() -> str:
    """Return the path of Go; raises CannotProvideError where it is missing."""
    go = shutil.which("go")
    if go is None:
        raise CannotProvideError(
            "the operators' CustomResourceDefinitions are in Go modules, and Go is missing: "
            "install Go 1.26 or newer (https://go.dev/dl/)"
        )
    return go


def _downloaded(go: str, wanted: Mapping[str, tuple[str, str]]) -> Iterator[tuple[str, str, Path]]:
    """Yield module, version and folder of each, downloaded and checked."""
    names = [f"{module}@{version}" for module, (version, _) in wanted.items()]
    # Outside of any module: then Go looks at no other module than those that it is asked for.
    with tempfile.TemporaryDirectory() as elsewhere:
        done = _run(Path(elsewhere), go, "mod", "download", "-json", *names)
    found = {each["Path"]: each for each in _objects(done.stdout)}
    for module, (version, pinned) in wanted.items():
        got = found.get(module, {})
        if "Dir" not in got:
            why = got.get("Error") or done.stderr.strip()
            raise CannotProvideError(
                f"{module}@{version} cannot be had: {why}: see `go env GOPROXY`"
            )
        if got["Sum"] != pinned:
            raise CannotProvideError(
                f"{module}@{version} has the sum {got['Sum']}, but tests/tools/crds/go.sum says "
                f"{pinned}: it is not what was tested; look at `go env GOPROXY`"
            )
        yield module, version, Path(got["Dir"])


def _run(folder: Path, *command: str) -> subprocess.CompletedProcess[str]:
    try:
        return subprocess.run(
            command, cwd=folder, capture_output=True, text=True, timeout=_TIMEOUT_S, check=False
        )
    except subprocess.TimeoutExpired as error:
        problem = f"`{' '.join(command)}` has not ended after {_TIMEOUT_S} s"
        raise CannotProvideError(f"{problem}: see `go env GOPROXY`, and try again") from error


def _objects(text: str) -> Iterator[Json]:
    """Yield the objects that a text has one after another."""
    decoder = json.JSONDecoder()
    rest = text.lstrip()
    while rest:
        value, end = decoder.raw_decode(rest)
        yield value
        rest = rest[end:].lstrip()


def _read_all(folders: Iterable[tuple[str, str, Path]]) -> Iterator[Json]:
    for module, version, folder in folders:
        files = sorted(folder.glob(FILES[module]))
        if not files:
            raise CannotProvideError(
                f"{module}@{version} has no {FILES[module]}: correct FILES in definitions.py"
            )
        for file in files:
            yield from _definitions(module, version, file.read_text())


def _made(go: str) -> Iterator[Json]:
    """Yield what controller-gen makes of Volcano's API types."""
    folder = HERE / "crds" / "volcano"
    version = dict(re.findall(r"^\t(\S+) (v\S+)", (folder / "go.mod").read_text(), re.MULTILINE))
    done = _run(folder, go, "tool", *_MADE)
    if done.returncode != 0:
        raise CannotProvideError(
            f"go tool {' '.join(_MADE)} failed (exit {done.returncode}): {done.stderr.strip()}: "
            "most often the Go module proxy cannot be reached, see `go env GOPROXY`"
        )
    yield from _definitions(_VOLCANO, version[_VOLCANO], done.stdout)


def _definitions(module: str, version: str, text: str) -> Iterator[Json]:
    for item in yaml.load_all(text, Loader=yaml.CSafeLoader):
        if item and item["kind"] == "CustomResourceDefinition":
            definition = without_descriptions(item)
            yield {"module": module, "version": version, "definition": definition}


def without_descriptions(value: Any, *, named: bool = False) -> Any:
    """Leave descriptions out of a schema; in a map of `properties` (`named`) keys are fields."""
    if isinstance(value, list):
        return [without_descriptions(each) for each in value]
    if not isinstance(value, dict):
        return value
    return {
        key: below
        if key in _VALUES and not named
        else without_descriptions(below, named=key == "properties" and not named)
        for key, below in value.items()
        if named or key != "description"
    }


def _write(path: Path, items: Iterable[Json]) -> None:
    """Put a file there in one step."""
    text = json.dumps(list(items))
    with tempfile.NamedTemporaryFile("w", dir=path.parent, delete=False) as file:
        file.write(text)
    Path(file.name).replace(path)
