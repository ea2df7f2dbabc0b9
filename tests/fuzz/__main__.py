"""Fuzzes one target.

python -m tests.fuzz TARGET [--seconds N | --runs N] [--corpus FOLDER] [--minimize]

New inputs that reach new code go to FOLDER (a temporary one by default). A finding ends it with the
exit code 77 and is kept in FOLDER as `crash-…`.
"""

import argparse
import sys
import tempfile
from pathlib import Path

import atheris

with atheris.instrument_imports(
    include=["webhooks", "policies", "kube", "audit", "identity", "core", "egress"]
):
    from tests.fuzz.targets import TARGETS

from tests.fuzz.json_mutations import mutate_json
from tests.fuzz.seeds import CORPUS

_MOST_BYTES = 64 * 1024
_SLOW_S = 10


_JSON = frozenset({"bundle", "review", "claims", "logs"})
"""Targets whose inputs are JSON, or may be."""


def _mutate(data: bytes, most: int, seed: int) -> bytes:
    return mutate_json(data, most, seed, atheris.Mutate)


def main() -> None:
    """Run libFuzzer over one target."""
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz")
    parser.add_argument("target", choices=sorted(TARGETS))
    parser.add_argument("--seconds", type=int, default=0)
    parser.add_argument("--runs", type=int, default=-1)
    parser.add_argument("--corpus", type=Path)
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args()
    folder = given.corpus or Path(tempfile.mkdtemp(prefix="sallyport-fuzz-"))
    folder.mkdir(parents=True, exist_ok=True)
    flags = [
        sys.argv[0],
        str(folder),
        str(CORPUS / given.target),
        f"-max_len={_MOST_BYTES}",
        f"-timeout={_SLOW_S}",
        f"-artifact_prefix={folder}/",
        f"-max_total_time={given.seconds}",
        f"-runs={given.runs}",
        f"-seed={given.seed}",
    ]
    mutator = {"custom_mutator": _mutate} if given.target in _JSON else {}
    atheris.Setup(flags, TARGETS[given.target], **mutator)
    atheris.Fuzz()


main()
