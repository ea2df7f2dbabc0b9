"""The page docs/sandbox/signals.md, from the METADATA of the signals."""

from collections.abc import Mapping
from typing import Any

_HEAD = "<!-- Made by docs/generate/rules.py from the rules' METADATA; edit that, or docs/generate/signals.py. -->\n"

_ABOUT = """# Signals: how risky an object is

Where a profile or a namespace says `by-risk`, a Pod runs in a sandbox if its signals add up to the \
threshold, 50 unless the site sets another. Each rule counts once, however many containers it \
finds. Every decision lists what counted, with points, path and reason. A signal refuses nothing.

How points are given: what is run without anyone having reviewed it, because a model writes it, \
reaches 50 alone. What a person of the site decides while it runs (a notebook, a terminal, an \
unmerged change) has 30 to 40: its careful form stays below, and two careless defaults tip it. How \
well the code is known (digest, registry, packages of the start) has 10 to 25, what it could use \
(a token, an identity) 10 to 15, what only takes from neighbours 5. So no Pod is isolated for its \
defaults alone: an unpinned public image with a token and without limits has 40.

Circumstances, which the object alone does not show, add to that: a Service that lets in the outside \
and a service account made lately have 15 each, to enter a Pod 20; a debug container, which the \
object shows, 15. Neither of the first two is enough, nor are both for a careful workload (30). But \
the careless image of above reaches the threshold with either: an unknown program that may change, \
holds a token, and is open to everyone or was set up a moment ago, is what a sandbox is for. A \
terminal of a debug container (30 + 15) stays below with a pinned image of one's own in a Pod \
without a token. Where `identity.enabled` is on, an identity at risk (who asks, who submitted it, \
what it signs in as) has 40 from medium on and 15 at low: neither is enough for a careful workload, \
since what risk does by itself is the risk table's to say. What the person behind it does that they \
did not do before ([behaviour](../operate/behaviour.md)) has 10 where that is frequent and 25 where \
it is rare: the two that are rarest reach the threshold together. A site that installs public \
charts every day gives `sandbox/actor/new_service_account` \
fewer points (setting `sandbox.points`), or adds [signals of its own](site-signals.md).
"""

_HINTS = """Notebook, generated code, environment and build are told by names: of images, of some \
labels, of an owner `Sandbox` of `agents.x-k8s.io` (lists and their reasons: \
`policies/projection/hints.py`). Names are what honest authors write. An author can take a hint \
away by another name, and installations by moving them into the image or a ConfigMap's script; no \
name lowers a score, save that of a controller of such workloads (`notebook-controller`) as a whole. \
What probes run is not read, nor what `preStop` does. Where that matters, do not rely on `by-risk`: give the namespace or the \
profile `required`.

Of a command only the names of tools leave the gate's reading: no text of it reaches a policy, a \
log or the record.
"""

_FEATURES = """## Features that some sandbox cannot run

From the same evaluation come the features that a Pod uses and their paths \
(`policies/rego/features/`): `host-network`, `host-pid`, `host-ipc`, `privileged`, \
`host-path-writable`, `host-socket`, `user-namespace`, `selinux`, `apparmor` and `seccomp` (a profile \
of the node that its author names), `sysctl`, `raw-network`, `recursive-read-only`, `block-volume`, \
`hugepages`, `rdma`, `mig`, `gpu`, `device` (any other device: of a plugin's resource, by a resource \
claim, or a path below `/dev`) and `windows`. A Pod that must be isolated and uses one that its \
sandbox cannot run is refused with the feature, the field and the alternatives: \
[which sandbox cannot run what, and why](compatibility.md).
"""

_ABSENT = """## What is not counted yet

These need what no object shows. They are absent, not zero: a low score does not mean that they \
were looked at.

| Signal | Needs |
|---|---|
| no egress rules, or one to everywhere; the metadata service reachable (T1552.005) | the room egress |
| an Ingress or a gateway before it (a Service that lets in the outside is counted) | routes, which gates do not watch |
| a workload identity that reaches weights | policies to be given it; [grants](../operate/weights.md) and the risk table hold it instead |

Of a Pod that runs, to be entered counts (exec and attach; not port-forward and proxy, which reach \
what it serves anyway and start nothing), and so does a debug container, but the runtime cannot \
change any more: who may enter is a matter of privileges (`exec/*`, `attach/*`, `debug/*`).
"""


def signals_page(
    signals: Mapping[str, Mapping[str, Any]], risky: Mapping[str, Mapping[str, Any]]
) -> str:
    """Return the page's text: all signals, and the privileges that count when they are excused."""
    rows = "\n".join(
        f"| [{data['title']}](../rules/{rule}.md) | `{rule}` | {data['custom']['points']} | "
        f"{data['custom']['message']} |"
        for rule, data in signals.items()
    )
    risks = "\n".join(
        f"| [{data['title']}](../rules/{rule.partition('/')[2]}.md) | "
        f"{', '.join(f'`{each}`' for each in data['custom']['privileges'])} | "
        f"{_most(data['custom'])} |"
        for rule, data in risky.items()
    )
    return f"""{_HEAD}
{_ABOUT}
## Signals

| Signal | Rule | Points | Says that it |
|---|---|---|---|
{rows}

{_HINTS}
## Privileges that are had by an exception only

A privilege that the chosen profile grants adds nothing. Most of what it grants cannot run in a \
sandbox: if it counted, all that rights allow would end refused. One that a PolicyException alone \
allows was reviewed once, for one reason, and adds these points (the most, where some weigh more):

| Rule | Privileges | Points |
|---|---|---|
{risks}

The numbers follow kubesec, doubled, since its −30 for `privileged` and `SYS_ADMIN` is what must \
reach the threshold alone; −9 for a namespace of the node and −7 for privilege escalation are kept \
in their order. What Pod Security's *baseline* forbids has 15 or more, save ports and probes of the \
node (10); what only *restricted* forbids has 20 or less. Ways to root on the node that kubesec does not know (its runtime's socket, its \
root directory, the kubelet's) have as many as `privileged`.

{_FEATURES}
{_ABSENT}"""


def _most(custom: Mapping[str, Any]) -> str:
    most = max(custom.get("risks", {}).values(), default=0)
    return f"{custom['risk']}, up to {most}" if most > custom["risk"] else str(custom["risk"])
