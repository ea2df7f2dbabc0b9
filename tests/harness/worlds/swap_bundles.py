"""Bundles that say in each answer which one they are, and bundles that must be refused."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import msgspec

from policies.bundle.format import FORMAT, Manifest, read_bundle, with_manifest
from tests.unit.admission.world import pod
from tests.unit.policies.bundles import make_bundle, make_site_bundle, rule

RULE: Final = """# METADATA
# scope: package
# title: Who
# description: Says which bundle it is in.
# schemas:
# - input: schema.judge
# - input.projection: schema.projection
# custom:
#   severity: low
#   message: was judged by {value}
#   remedy: Leave it.
package sallyport.rules.acme.NAME

deny contains {"path": "spec", "value": "NAME"}
"""
"""Two of them in each bundle, both of which must speak."""

_TOLERATIONS: Final = 80

SLOW: Final = """some a in input.tolerations
	some b in input.tolerations
	some c in input.tolerations
	some d in input.tolerations
	a == b
	b == c
	c == d
	a != d"""
"""Of 80 tolerations it takes seconds."""

ENDLESS: Final = f"some y in input.tolerations\n\tsome z in input.tolerations\n\t{SLOW}\n\ty != z"
"""Of 80 tolerations it takes hours."""

HUNGRY: Final = 'count(numbers.range(1, 4000000)) > 1; startswith(input.os, "t")'
CALLING: Final = 'http.send({"method": "get", "url": "https://x.example"}).status_code == 200'


@dataclass(frozen=True)
class Bad:
    """A bundle that must be refused."""

    file: Path
    why: str
    """A pattern of the reason."""


def good(folder: Path, word: str) -> Path:
    """Make a bundle whose answers say `word`."""
    (folder / word).mkdir()
    rules = {f"{each}.rego": RULE.replace("NAME", each) for each in (f"{word}_a", f"{word}_b")}
    return make_site_bundle(folder / word, rules)


def bad(folder: Path) -> dict[str, Bad]:
    """Make one of each kind, by its name."""
    lately = "judging what was asked lately fails: .*"
    rules = {
        "slow": (SLOW, rf"{lately}exceeded its time limit of 0\.5 s"),
        "endless": (ENDLESS, rf"{lately}exceeded its time limit of 0\.5 s"),
        "memory-hungry": (HUNGRY, rf"{lately}exceeded its memory limit of 64 MiB"),
        "network-calling": (CALLING, r"http\.send \(rego/x\.rego:\d+"),
    }
    made = {}
    for name, (condition, why) in rules.items():
        made[name] = Bad(_with(folder / name, condition), why)
    broken = folder / "broken.tar.gz"
    broken.write_bytes(made["slow"].file.read_bytes()[:5000])
    shadowing = folder / "shadowing.tar.gz"
    shadowing.write_bytes(_shadowing(made["slow"].file))
    return made | {
        "broken": Bad(broken, "cannot be read as a bundle"),
        "shadowing": Bad(shadowing, "replaces the built-in rule privileges/host/network"),
    }


def endless(folder: Path) -> Bad:
    """Make one that never ends on what was asked lately."""
    return Bad(_with(folder / "endless", ENDLESS), r"exceeded its time limit")


def _with(folder: Path, condition: str) -> Path:
    folder.mkdir()
    return make_bundle(folder, {"x.rego": rule(condition)})


def _shadowing(file: Path) -> bytes:
    """Return a bundle that says of a built-in rule that it is a site's."""
    rules = dict(read_bundle(file).rules)
    host = rules["privileges/host/network"]
    rules[host.id] = msgspec.structs.replace(host, site=True)
    return with_manifest(file.read_bytes(), Manifest(FORMAT, list(rules.values())), {})


def pods(count: int) -> list[dict[str, Any]]:
    """Return Pods that differ.

    With one of them in hand the bad bundles are as bad as they can be.
    """
    tolerated = [{"key": f"k{number}", "operator": "Exists"} for number in range(_TOLERATIONS)]
    made = [pod(os={"name": "trigger"}, tolerations=tolerated)]
    for number in range(1, count):
        made.append(pod())
        made[-1]["spec"]["containers"][0]["name"] = f"trainer-{number}"
    return made
