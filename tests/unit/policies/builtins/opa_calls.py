"""Made-up calls of built-in functions, as OPA's own process answers them and as ours do."""

import json
import random
import subprocess
from collections.abc import Mapping
from decimal import Decimal
from typing import Any, Final

import msgspec

from policies.builtins.registry import SUPPLIED
from policies.builtins.rego_repr import order
from policies.builtins.values import UNDEFINED, Set, decode, encode, of_key
from tests.tools.provide import provide
from tests.unit.policies.builtins.opa_arguments import MAKERS, VALUES

UNDEFINED_TEXT: Final = "undefined"
UNSUPPLIED_TEXT: Final = "not supplied"
"""An error of ours whose message says that OPA would go on."""


def calls(name: str, count: int, seed: int = 0) -> list[list[Any]]:
    """Make up that many calls of a function; one in ten has an argument of any type."""
    rng = random.Random(f"{name} {seed}")  # noqa: S311  Not for secrets.
    made = []
    for _ in range(count):
        arguments = MAKERS[name](rng)
        if rng.random() < 0.1 and name != "numbers.range_step":
            arguments[rng.randrange(len(arguments))] = rng.choice(VALUES)
        made.append(arguments)
    return made


def opa_answers(asked: Mapping[str, list[list[Any]]]) -> dict[str, list[str]]:
    """Return what OPA's own functions say, all in one process: JSON in order, or `undefined`."""
    parts = []
    for name, some in asked.items():
        operands = ", ".join(f"a[{place}]" for place in range(len(some[0])))
        parts.append(
            f'"{name}": [ys | some a in input["{name}"]; ys := [y | y := {name}({operands})]]'
        )
    done = subprocess.run(
        [provide("opa"), "eval", "-I", "-f", "json", "{" + ", ".join(parts) + "}"],
        input=json.dumps(asked).encode(),
        capture_output=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout.decode()[:2000] + done.stderr.decode()[:2000]
    answers = msgspec.json.Decoder(float_hook=Decimal).decode(done.stdout)["result"][0]
    return {
        name: [_ordered(ys[0]) if ys else UNDEFINED_TEXT for ys in some]
        for name, some in answers["expressions"][0]["value"].items()
    }


def our_answer(name: str, arguments: list[Any]) -> str:
    """Return what our function says, in the same shape; an error is `undefined`."""
    try:
        answer = SUPPLIED[name](*(decode(json.dumps(each).encode()) for each in arguments))
    except ValueError as error:
        return UNSUPPLIED_TEXT if "supplied" in str(error) else UNDEFINED_TEXT
    return UNDEFINED_TEXT if answer is UNDEFINED else _ordered(_plain(decode(encode(answer))))


def _plain(value: Any) -> Any:
    if isinstance(value, Set):
        return [_plain(each) for each in sorted(value, key=order)]
    if isinstance(value, list):
        return [_plain(each) for each in value]
    if isinstance(value, dict):
        return {_key(of_key(key)): _plain(each) for key, each in value.items()}
    return value


def _key(key: Any) -> str:
    return key if isinstance(key, str) else encode(key).decode()


def _ordered(value: Any) -> str:
    return json.dumps(value, sort_keys=True, default=lambda number: f"#{float(number)!r}")
