"""Bundles with so many privilege rules about Pods: built-in ones, and copies of them."""

import re
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from bench.servers import ROOT
from policies.build.builder import build
from tests.tools.provide import provide

_REGO: Final = ROOT / "policies" / "rego"
_LISTED: Final = re.compile(
    r'^\t\t"([a-z_]+)/([a-z_]+)": privileges\.\1\.\2\.needs,$', re.MULTILINE
)

_COPIED: Final = (
    "capability/add",
    "container/privileged",
    "host/port",
    "proc_mount/unmasked",
    "seccomp/unconfined",
    "selinux/options",
    "sysctl/set",
    "volume/host_path",
)
"""Rules that look at containers, volumes or the Pod, and find nothing in one that complies."""


_END: Final = "\n\t}\n"
"""Of a list; the first one holds the rules that Pods are asked about."""


def rules() -> list[str]:
    """Return the built-in privilege rules about Pods, `family/rule`, as the entry point lists them.

    Those about other objects are not evaluated for a Pod, and stay as they are.
    """
    text = (_REGO / "needs.rego").read_text().partition(_END)[0]
    return [f"{family}/{rule}" for family, rule in _LISTED.findall(text)]


def build_bundle(count: int, folder: Path) -> Path:
    """Build a bundle with so many privilege rules in `folder`, which must not exist; give its path.

    Below the number of built-in ones the first are left out of the entry point, but those that
    the bench's verdicts and the engine's own check stand on.
    """
    built_in = rules()
    needed = {"capability/add", "capability/defaults", "container/privileged"}
    others = [rule for rule in built_in if rule not in needed]
    kept = sorted([*needed, *others[: max(0, count - len(needed))]])
    shutil.copytree(_REGO, folder / "rego")
    copies = list(_copies(count - len(kept)))
    for name, source in copies:
        _copy(folder / "rego", name, source)
    entry = folder / "rego" / "needs.rego"
    entry.write_text(_with_rules(entry.read_text(), [*kept, *(name for name, _ in copies)]))
    bundle = folder / f"rules-{count}.tar.gz"
    build(provide("opa"), folder / "rego", bundle)
    return bundle


def _copies(count: int) -> Iterator[tuple[str, str]]:
    for number in range(count):
        yield f"copied/rule_{number}", _COPIED[number % len(_COPIED)]


def _copy(rego: Path, name: str, source: str) -> None:
    family, rule = source.split("/")
    text = (rego / "privileges" / family / rule / f"{rule}.rego").read_text()
    package = f"package sallyport.privileges.{family}.{rule}"
    target = rego / "privileges" / name / f"{name.rpartition('/')[2]}.rego"
    target.parent.mkdir(parents=True)
    target.write_text(
        text.replace(package, f"package sallyport.privileges.{name.replace('/', '.')}")
    )


def _with_rules(text: str, names: list[str]) -> str:
    lines = [f'\t\t"{name}": privileges.{name.replace("/", ".")}.needs,' for name in names]
    of_pods, end, rest = text.partition(_END)
    first = _LISTED.search(of_pods)
    if first is None:
        raise ValueError("the entry point lists no rules")
    return of_pods[: first.start()] + "\n".join(lines) + end + rest
