"""`python -m bench.sandbox`: the CPU that the sandbox adds to a review, in interleaved pairs.

Two gates judge the same Pods in the same cluster, whose namespace asks for a sandbox by risk. One
weighs each Pod and decides; in the other nobody ever asks (`bench.without_sandbox`).
"""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from bench.added import Added, Case, measure_added
from bench.reviews import GANG, USUAL
from bench.rig import UNCACHED, Rig, rig

NEW: Final = {"SALLYPORT_EVALUATION__REMEMBERED": "32"}
"""Fewer than the different Pods: each is new when it comes again, its requester is not."""

_NAMESPACE: Final = "  name: train\n  labels:\n"
_ASKS: Final = "    sallyport.dev/sandbox: by-risk\n"
_CLASS: Final = """
apiVersion: node.k8s.io/v1
kind: RuntimeClass
metadata: {name: gvisor}
handler: runsc
"""


@contextmanager
def _asking() -> Iterator[Rig]:
    """Yield a rig whose cluster asks for a sandbox by risk."""
    with rig() as servers:
        ask_by_risk(servers.cluster)
        yield servers


def ask_by_risk(cluster: Path) -> None:
    """Have the namespace of the Pods ask for a sandbox by risk."""
    file = cluster / "cluster.yaml"
    text = file.read_text()
    if _NAMESPACE not in text:
        raise SystemExit(f"{file}: the namespace train is not where it was")
    file.write_text(text.replace(_NAMESPACE, _NAMESPACE + _ASKS, 1))
    (cluster / "runtime-class.yaml").write_text(_CLASS)


def main() -> None:
    """Measure, and print what was added."""
    measure_added(
        Added(
            program="bench.sandbox",
            described=__doc__,
            without="bench.without_sandbox",
            cases={
                "uncached": Case(USUAL, 150, NEW, _asking),
                "a gang": Case(GANG, 10, rig=_asking),
                "nothing remembered at all": Case(USUAL, None, UNCACHED, _asking),
                "a gang, where nobody asks": Case(GANG, 10),
            },
            against="the same gate in which nobody ever asks for a sandbox, in the same cluster: "
            "its namespace asks for one by risk, but in the last case",
            page="sandbox",
        )
    )


if __name__ == "__main__":
    main()
