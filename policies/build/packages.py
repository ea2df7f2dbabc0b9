"""Says which packages a site may have beside the built-in policies.

Signals, each a package `sallyport.sandbox.<family>.<name>`; rules that deny or warn, each a package
`sallyport.rules.<category>.<name>`; and helpers in packages `site.<…>`. Nothing else: Rego joins
files of one package, so that a file in a package of the built-in policies would add to them,
contradict them, or stand in for them.
"""

import re
from collections.abc import Collection, Sequence
from typing import Final

from policies.site.rego_parser import Module, refused

_SANDBOX: Final = ("sallyport", "sandbox")
_RULES: Final = ("sallyport", "rules")
_PARTS: Final = 4
_NAME: Final = re.compile(r"[a-z][a-z0-9_]{0,62}")


def rule_id(module: Module, built_in: Collection[str]) -> str | None:
    """Give the id of a file of a rule or a signal, `rules/<category>/<name>`; None of a helper.

    Raises:
        BundleRefusedError: its package is not one that a site may have, or it is an entry point.
    """
    for annotations in module.annotations:
        if annotations.entrypoint:
            fix = "leave out 'entrypoint: true'"
            raise refused(annotations.location, "is an entry point", fix)
    parts = module.parts
    if parts[0] == "site" and len(parts) > 1:
        return None
    if problem := _against(parts, built_in):
        raise refused(module.location, f"package {'.'.join(parts)} {problem}", _FIX)
    return "/".join(parts[1:])


_FIX: Final = (
    "name it sallyport.rules.<category>.<name> for a rule, sallyport.sandbox.<family>.<name> for "
    "a signal, site.<name> for a helper"
)


def _against(parts: Sequence[str], built_in: Collection[str]) -> str:
    """Say what is against a package that is no helper's; empty where nothing is."""
    rule = "/".join(parts[1:])
    named = len(parts) == _PARTS and all(_NAME.fullmatch(part) for part in parts)
    against = {
        "is none that a site's bundle may have": parts[0] != "sallyport",
        "is a built-in rule's": rule in built_in,
        "lies above a built-in rule's": any(f"{it}/".startswith(f"{rule}/") for it in built_in),
        "lies below a built-in rule's": any(rule.startswith(f"{it}/") for it in built_in),
        "is Sallyport's own": tuple(parts[:2]) not in {_SANDBOX, _RULES},
        "is no rule's and no signal's name (letters a-z, digits and _)": not named,
    }
    return next((problem for problem, holds in against.items() if holds), "")
