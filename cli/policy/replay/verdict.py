"""Says in one line what putting a bundle in force would change, and how much was seen."""

from admission.replay.outcomes import BundleEffect
from cli.policy.replay.counts import Replayed


def verdict_of(found: Replayed) -> str:
    """Give the line."""
    seen = f"{found.compared:,} of {found.reviews:,} reviews compared"
    refused, failed = found.of(BundleEffect.NEWLY_REFUSED), found.of(BundleEffect.FAILED)
    others = [
        f"{found.of(effect):,} {word}"
        for effect, word in (
            (BundleEffect.NEWLY_ADMITTED, "newly admitted"),
            (BundleEffect.NEWLY_WARNED, "newly warned of"),
            (BundleEffect.NEWLY_SANDBOXED, "newly sandboxed"),
        )
        if found.of(effect)
    ]
    rest = f"; {', '.join(others)}" if others else ""
    if failed:
        return f"Do not promote it: its policies fail on {failed:,} ({seen}{rest})."
    if refused:
        return f"Do not promote it yet: {refused:,} would newly be refused ({seen}{rest})."
    if not found.compared:
        return f"Nothing can be said: {seen}."
    if not found.whole:
        left = sum(each.reviews for each in found.left if each.failure) + found.not_reproduced
        return (
            f"Nothing would newly be refused of what was seen ({seen}{rest}), but {left:,} answers "
            "are missing: see above before you promote it."
        )
    return f"Promote it: nothing would newly be refused ({seen}{rest})."
