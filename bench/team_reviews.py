"""Reviews of the members of many teams: four sorts, by who has what their Pods need."""

import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

from bench.profiles import SHARING, name
from bench.reviews import USUAL

Json = dict[str, Any]


@dataclass(frozen=True)
class Sort:
    """One sort of review, and how much it asks."""

    what: str
    change: Callable[[Json, int], None]
    """Makes the Pod of a team's member."""
    allowed: bool


def _plain(_pod: Json, _team: int) -> None:
    """Change nothing: everybody may use the first profile that covers it."""


def _own_folder(pod: Json, team: int) -> None:
    volume = {"name": "team", "hostPath": {"path": f"/teams/{team}/data"}}
    pod["spec"]["volumes"].append(volume)
    mount = {"name": "team", "mountPath": "/team", "readOnly": True}
    pod["spec"]["containers"][0]["volumeMounts"].append(mount)


def _shared_capability(pod: Json, _team: int) -> None:
    context = pod["spec"]["containers"][0]["securityContext"]
    context = {**context, "capabilities": {"drop": ["ALL"], "add": ["SYS_NICE"]}}
    pod["spec"]["containers"][0]["securityContext"] = context


def _nobodys(pod: Json, _team: int) -> None:
    pod["spec"]["hostNetwork"] = True


SORTS: Final = (
    Sort("needs what everybody has", _plain, allowed=True),
    Sort("needs what its own team's profile has", _own_folder, allowed=True),
    Sort(f"needs what one profile in {SHARING} has", _shared_capability, allowed=True),
    Sort("is refused", _nobodys, allowed=False),
)


@dataclass(frozen=True)
class Reviews:
    """Makes the reviews of the members of so many teams."""

    teams: int

    def make(self, sort: Sort, subject: int) -> bytes:
        """Return the review of one subject's Pod; its team is its number modulo the teams."""
        review = json.loads(USUAL.review(0))
        team = self.team(sort, subject)
        request = review["request"]
        user = {"username": f"user-{subject}@example.com"}
        request["userInfo"] = {**user, "groups": [name(team), "system:authenticated"]}
        sort.change(request["object"], team)
        return json.dumps(review, separators=(",", ":")).encode()

    def team(self, sort: Sort, subject: int) -> int:
        """Return the team of a subject: for a shared privilege, one that has it."""
        team = subject % self.teams
        return team // SHARING * SHARING if sort.change is _shared_capability else team
