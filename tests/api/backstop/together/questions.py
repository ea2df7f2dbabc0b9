"""Pods to ask both about, who asks, where, and what became of it."""

import copy
import random
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from http import HTTPStatus
from itertools import islice
from typing import Final

from policies.backstop.rules import COVERED
from tests.api.backstop.installed_backstop import GROUPS, PROFILES, is_refusal
from tests.harness.programs.client import Client, Json
from tests.harness.worlds.pods import pods

PLAIN: Final = "both-plain"
LOW: Final = "both-low"
WATCHED: Final = "both-watched"
EXCUSED: Final = "both-excused"
GLASS: Final = "both-glass"
SPACES: Final = (PLAIN, LOW, WATCHED, EXCUSED, GLASS)

WHO: Final = (*PROFILES, "nobody", "nets")
"""User names: each may use the profile of the name, if there is one."""

AGENT: Final = "agent"
"""A service account that may use the widest profile."""

JOBS: Final = "system:serviceaccount:kube-system:job-controller"

_PATHS: Final = (
    "/", "/var/log", "/var/log/pods", "//var/log/", "/etc", "/dev/kvm", "/run/containerd/a.sock",
    "/data/a b", "/var/lib/kubelet/device-plugins", "/é", "/a%2Fb", "/.", "/usr/lib/modules",
)  # fmt: skip
_CAPABILITIES: Final = (
    "NET_ADMIN", "SYS_ADMIN", "NET_BIND_SERVICE", "CHOWN", "net_admin", "ALL", "a/b", "%2F", "X Y",
)  # fmt: skip
_TYPES: Final = ("", "Directory", "DirectoryOrCreate", "Socket", "File")
LATE: Final = "late"
"""A label of Pods that the mutating webhook is not asked about, so that all others are heard."""

_RULE: Final = re.compile(r"\b(?:" + "|".join(each.rule for each in COVERED) + r")\b")


@dataclass
class Tally:
    """What became of all that was asked."""

    asked: int = 0
    admitted: int = 0
    admitted_of_jobs: int = 0
    """Those that the controller of Jobs made, with something that the back-stop holds or not."""
    refused_by_both: int = 0
    refused_for_held: int = 0
    """By the gate, for something that the back-stop holds, where nothing is excused or relaxed."""
    held_by_backstop: int = 0
    """Of those: by the back-stop too."""
    elsewhere: int = 0
    """The same where something is: the gate relaxes as a whole or not at all."""
    held_elsewhere: int = 0
    too_strict: list[str] = field(default_factory=list)
    """Admitted by the gate and refused by the back-stop: must be none."""
    missed: list[str] = field(default_factory=list)
    refused_early: int = 0
    """By the mutating webhook, where it is asked."""
    too_early: list[str] = field(default_factory=list)
    """Of those, admitted in the end where it is not: must be none."""
    unrecorded: list[str] = field(default_factory=list)
    """Refused by the back-stop, and not by the mutating webhook before it: must be none."""

    def lines(self) -> list[str]:
        """Return the numbers."""
        share = self.held_by_backstop / max(1, self.refused_for_held)
        return [
            f"- Asked: {self.asked} (valid Pods); admitted by the gate: {self.admitted}, "
            f"{self.admitted_of_jobs} of them made by the controller of Jobs",
            f"- Admitted by the gate and refused by the back-stop: {len(self.too_strict)}",
            f"- Refused by the gate for a rule that the back-stop holds: {self.refused_for_held}; "
            f"of these by the back-stop too: {self.held_by_backstop} ({share:.1%})",
            "- The same in namespaces with an exception in force or an open BreakGlass: "
            f"{self.elsewhere}, {self.held_elsewhere}",
            f"- Refused by the mutating webhook, where it is asked: {self.refused_early}; of these "
            f"admitted where it is not: {len(self.too_early)}; refused by the back-stop and not "
            f"by it: {len(self.unrecorded)}",
        ]


def asked(seed: int, count: int) -> Iterator[tuple[str, str, Json]]:
    """Yield user, namespace and Pod: each field of Pod Security's, and paths and capabilities."""
    rng = random.Random(seed)  # noqa: S311 -- must repeat, need not be secret
    known = [pod for _, pod in islice(pods(seed), 4 * count)]
    for _ in range(count):
        pod = copy.deepcopy(rng.choice(known))
        if rng.random() < 0.5:
            _with_paths(pod, rng)
        if rng.random() < 0.3:
            container = rng.choice(pod["spec"]["containers"])
            context = container.setdefault("securityContext", {})
            if isinstance(context, dict):
                capabilities = context.get("capabilities") or {}
                context["capabilities"] = {**capabilities, "add": rng.sample(_CAPABILITIES, 2)}
        pod["metadata"]["name"] = rng.choice(("llama", "other"))
        space = rng.choice(SPACES)
        yield _owned(pod, space, rng) if rng.random() < 0.3 else rng.choice(WHO), space, pod


def _owned(pod: Json, space: str, rng: random.Random) -> str:
    """Have a Pod made for a Job, by its controller or somebody else, under some account."""
    pod["spec"]["serviceAccountName"] = rng.choice(("default", AGENT))
    owner = {"apiVersion": "batch/v1", "kind": "Job", "name": space, "uid": f"uid-{space}"}
    pod["metadata"]["ownerReferences"] = [{**owner, "controller": True}]
    return rng.choice((JOBS, JOBS, *WHO))


def _with_paths(pod: Json, rng: random.Random) -> None:
    chosen = rng.sample(_PATHS, rng.randint(1, 2))
    sources = [{"path": path, "type": rng.choice(_TYPES)} for path in chosen]
    named = [(f"p{index}", source) for index, source in enumerate(sources)]
    volumes = pod["spec"].get("volumes") or []
    pod["spec"]["volumes"] = [*volumes, *({"name": n, "hostPath": s} for n, s in named)]
    for name, _ in named:
        for container in pod["spec"]["containers"]:
            if rng.random() < 0.7:
                mount = {"name": name, "mountPath": f"/{name}", "readOnly": rng.random() < 0.6}
                container["volumeMounts"] = [*(container.get("volumeMounts") or []), mount]


@dataclass(frozen=True)
class Answer:
    """What became of a Pod that was asked for."""

    valid: bool
    message: str
    warnings: tuple[str, ...]

    @property
    def by_backstop(self) -> bool:
        """Whether the back-stop would have refused it."""
        return any(map(is_refusal, self.warnings))

    def refused_by(self, webhook: str) -> bool:
        """Return whether one of the gate's webhooks refused it."""
        return f"{webhook}.sallyport.dev" in self.message


async def answer_to(admin: Client, user: str, space: str, pod: Json) -> Answer:
    """Ask for a Pod."""
    client = admin.as_user(user, GROUPS)
    path = f"/api/v1/namespaces/{space}/pods"
    status, answer = await client.request("POST", path, pod, parameters={"dryRun": "All"})
    message = str(answer.get("message", ""))
    valid = status == HTTPStatus.CREATED or ".sallyport.dev" in message
    return Answer(valid, message, tuple(client.warnings))


async def ask(admin: Client, tally: Tally, user: str, space: str, pod: Json) -> None:
    """Ask for a Pod, with the mutating webhook and without, and count who said what."""
    whole = await answer_to(admin, user, space, pod)
    late = copy.deepcopy(pod)
    late["metadata"].setdefault("labels", {})[LATE] = "yes"
    found = await answer_to(admin, user, space, late)
    if not found.valid:
        return
    message, by_gate, by_backstop = found.message, found.refused_by("validate"), found.by_backstop
    early = whole.refused_by("mutate")
    tally.refused_early += early
    if early and not by_gate:
        tally.too_early.append(f"{user} in {space}: {pod} {whole.message}")
    if by_backstop and not early:
        tally.unrecorded.append(f"{user} in {space}: {pod} {whole.message}")
    tally.asked += 1
    tally.admitted += not by_gate
    tally.admitted_of_jobs += not by_gate and user == JOBS
    tally.refused_by_both += by_gate and by_backstop
    if by_backstop and not by_gate:
        tally.too_strict.append(f"{user} in {space}: {pod} {found.warnings}")
    if not (by_gate and _RULE.search(message)):
        return
    if space in {EXCUSED, GLASS}:
        tally.elsewhere += 1
        tally.held_elsewhere += by_backstop
    else:
        tally.refused_for_held += 1
        tally.held_by_backstop += by_backstop
        if not by_backstop:
            tally.missed.append(f"{user} in {space}: {message[:400]}")
