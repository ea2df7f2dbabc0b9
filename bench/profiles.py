"""Many ContainerProfiles, and who may use them: one for each team, as a large site has them."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

from bench.servers import stage_cluster
from tests.harness.rbac import grant, group, use_of

Json = dict[str, Any]

SHARING: Final = 30
"""Every so many-th profile covers the capability SYS_NICE."""


def team_profile(number: int) -> Json:
    """Return the profile of one team.

    What everybody may have, its own folder and port, and more.
    """
    privileges = [
        f"volume/hostPath:ro/teams/{number}/**",
        f"host/port/{10_000 + number}",
        f"sysctl/net.team{number}",
    ]
    if number % SHARING == 0:
        privileges.append("capability/SYS_NICE")
    return {
        "apiVersion": "sallyport.dev/v1alpha1",
        "kind": "ContainerProfile",
        "metadata": {"name": name(number)},
        "spec": {
            "rank": 500,
            "catalogue": 2,
            "includes": ["pss-restricted"],
            "privileges": privileges,
        },
    }


def name(number: int) -> str:
    """Return the name of a team's profile."""
    return f"team-{number:03d}"


def team_objects(count: int) -> Iterator[Json]:
    """Yield the profiles of so many teams, and for each the right of its group."""
    for number in range(count):
        yield team_profile(number)
        yield from grant(f"use-{name(number)}", use_of(name(number)), group(name(number)))


def write_cluster(count: int, folder: Path) -> Path:
    """Write the example cluster with so many profiles more into `folder`; give the folder."""
    stage_cluster(folder)
    documents = map(json.dumps, team_objects(count))
    (folder / "teams.yaml").write_text("\n---\n".join(documents))
    return folder
