"""Chooses the policy engine that openings are rendered for."""

from egress.model.openings import CompiledAllowlists
from egress.render import cilium, networkpolicy
from egress.render.target import RenderedNamespace, RenderTarget


def render(meaning: CompiledAllowlists, target: RenderTarget) -> RenderedNamespace:
    """Return the policies of an enrolled namespace, in the words of the target's engine."""
    if target.engine.kind == "networkpolicy":
        return networkpolicy.render(meaning, target)
    return cilium.render(meaning, target)
