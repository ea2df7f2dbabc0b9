"""Makes deploy/backstop.yaml: the ValidatingAdmissionPolicy that keeps the worst out.

python -m docs.generate.backstop [--check]

Made from the table of rules (policies/backstop/rules.py) and the METADATA of each. With `--check`
nothing is written, and the exit code is 1 if it is stale.
"""

import argparse
import sys
from pathlib import Path
from typing import Final

import yaml

from docs.generate.rules import read_metadata
from policies.backstop.policy import build_manifests
from policies.backstop.rules import COVERED

ROOT: Final = Path(__file__).resolve().parents[2]
FILE: Final = ROOT / "deploy" / "backstop.yaml"

_HEAD: Final = """\
# Made by docs/generate/backstop.py from policies/backstop/ and the METADATA of rules; edit those.
# What is worst of what a Pod may need, refused by kube-apiserver itself (1.30 and later), also while
# no gate runs: docs/operate/backstop.md, docs/adr/0044. `control` keeps its parameters.
"""
_NAMESPACE: Final = "sallyport-system"
_EXCLUDED: Final = ["kube-system", "kube-node-lease", _NAMESPACE]


def main() -> int:
    """Write the file, or check it. Gives the exit code."""
    parser = argparse.ArgumentParser(description="Make deploy/backstop.yaml.")
    parser.add_argument("--check", action="store_true", help="write nothing; 1 if stale")
    check = parser.parse_args().check
    wanted = text()
    if FILE.exists() and FILE.read_text() == wanted:
        return 0
    if check:
        print(
            "deploy/backstop.yaml is stale; run: python -m docs.generate.backstop", file=sys.stderr
        )
        return 1
    FILE.write_text(wanted)
    return 0


def text() -> str:
    """Return the file."""
    remedies = {
        each.rule: read_metadata(_source(each.rule))["custom"]["remedy"] for each in COVERED
    }
    made = build_manifests(remedies, _NAMESPACE, _EXCLUDED)
    return _HEAD + "---\n".join(
        yaml.safe_dump(item, sort_keys=False, width=100, allow_unicode=True) for item in made
    )


def _source(rule: str) -> Path:
    folder = ROOT / "policies" / "rego" / rule
    return folder / f"{folder.name}.rego"


if __name__ == "__main__":
    sys.exit(main())
