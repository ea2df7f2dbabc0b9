"""The canary that every engine is asked before its bundle counts.

A bundle that finds nothing would let everything in.
"""

from typing import Final

from core.kubernetes.pod import SecurityContext
from policies.engine.interface import Judgement, PolicyAnswer
from policies.projection.model import Container, Context, Projection, encode, encode_context

CANARY: Final = encode(
    Projection(
        containers=[
            Container(
                "spec.containers[0]",
                "canary",
                "container",
                security_context=SecurityContext(privileged=True),
            )
        ]
    )
)
"""The projection of a Pod that every bundle must find something in."""

CANARY_CONTEXT: Final = encode_context(Context("CONNECT", "exec"))
"""The context of a request that every bundle must find something in."""

_ENTERING: Final = "sandbox/actor/entered"


def find_problem(answer: PolicyAnswer, judged: Judgement | None = None) -> str:
    """Say what is wrong with what a bundle answers to them; empty where nothing is.

    `judged` is None while only `answer` is known.
    """
    found = ""
    if all(need.privilege != "container/privileged" for need in answer.needs):
        found = "nothing wrong with a privileged container"
    elif judged is not None and all(each.rule != _ENTERING for each in judged.signals):
        found = "no signal where somebody enters a Pod"
    if not found:
        return ""
    return f"the bundle finds {found}: the built-in rules are missing from it or do not work"
