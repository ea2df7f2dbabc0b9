"""Words why Pods must run in a sandbox, for `sallyport review` and `sallyport explain`."""

from core.sandbox.decision import SandboxDecision


def why_sandboxed(isolation: SandboxDecision) -> str:
    """Say why Pods must run in a sandbox, as a line for people."""
    if isolation.reason == "asked":
        return "its label sallyport.dev/sandbox asks for it"
    if isolation.reason == "identity":
        return "the risk of an identity behind it demands it"
    if isolation.reason == "required":
        return "its profile or its namespace demands it"
    signals = ", ".join(f"{each.rule} {each.points}" for each in isolation.signals)
    return f"{describe_score(isolation.score, isolation.threshold)}: {signals}"


def describe_score(score: int, threshold: int) -> str:
    """Say a risk score and the threshold it is compared with, as part of a sentence."""
    return f"its risk is {score}, and {threshold} demands a sandbox"
