"""Makes docs/reference/builtins.md: what becomes of every built-in function of OPA.

python -m docs.generate.builtins [--check]

With `--check` nothing is written, and the exit code is 1 if the page is stale.
"""

import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Final

from policies.builtins.denylist import REFUSED, WRITTEN_AWAY
from policies.builtins.fallible import CAN_FAIL
from policies.builtins.native import NATIVE
from policies.builtins.registry import SUPPLIED

PAGE: Final = Path(__file__).parents[1] / "reference" / "builtins.md"

_HEAD: Final = """# Built-in functions that policies may call
<!-- Made by docs/generate/builtins.py from policies/builtins; edit those. -->

Every built-in function of OPA 1.22 is one of three. *Compiled in*: OPA puts it into the bundle's WebAssembly. *Supplied*: the gate has it (`policies/builtins/`); each agrees with OPA's published cases and with OPA's own answers to made-up calls ([evidence](../evidence/builtins.md)). *Refused*: a bundle that calls it is not loaded, and the message has its name, the file and the line, and what to use instead. `print`, `:=` and `rego.metadata.*` are OPA's compiler's own, and stay out of a bundle.

## When one fails
- It **ends the evaluation**, whatever it is given: a value of the wrong type, or one that the table names. The object is refused with an error that names the function and the rule. An OPA server does the same, with strict built-in errors, as Sallyport demands. Test the shape first, or call a wrapper of [`data.sallyport.lib`](../policies/wrappers.md), to refuse with the rule's own words.
- OPA's WebAssembly by itself would go on with nothing there. So when a bundle is loaded, each function that is *compiled in* gets a body that asks the gate where it has no value ([ADR 56](../adr/0056-strict-built-ins.md)); made-up calls of each fail where OPA's own fail ([evidence](../evidence/compiled-in.md)). Those whose answers are others than OPA's are the gate's altogether: `base64`, `json`, `glob.match`, `net.cidr_*`, `to_number`, `object.union_n`.
- `max` and `min` of nothing, and `uuid.parse` of no UUID, are undefined without an error, in OPA too.
- Nothing can interrupt a function of the gate. So each limits its work: all arguments together take 128 KiB, a `sprintf` gives a million characters, `net.cidr_expand` 4,096 addresses, a regular expression, or a pattern of `glob.match`, its program's size times the text's length up to 4 million. Beyond that it fails.

## Where one differs from OPA
Each of these is an error here, where OPA goes on:
- `sprintf`: `%b`, `%x` and the flag `#` of a float; a verb of a number of more than 64 bits that it does not go with.
- `hex.decode`, `urlquery.decode`, `urlquery.decode_object`: what is no UTF-8.
- `net.cidr_merge`: IPv4 written as IPv6; networks of IPv6 that begin with `00`, but for `::`.
- `time.*`: the zone `Local`. Zones are those of the Python package `tzdata`.
- `units.parse_bytes`: exponents above 55; `units.parse`: above 400.
- `json.patch`: more than 200 operations, values of more than 64 KiB, and the removal of everything (at which OPA 1.22 crashes).
- `base64.decode`, `base64url.decode`: what is no UTF-8; `json.unmarshal`: surrogates written with `\\u`.
- `to_number`: hexadecimal (`0x5p0`), and exponents above 400.
- `glob.match`: patterns whose regular expression has more than 4,096 characters.
- `format_int`: numbers of more than 32 bits.
- `json.filter`, `json.remove`: paths whose parts are no texts.
- `strings.replace_n`: an empty text, in one with characters of more than a byte.

And these, all compiled in, answer otherwise:
- `to_number("05")`, `("+5")`, `("5.")` is 5, as in OPA; but OPA 1.22 cannot write it into an answer or as JSON.
- `floor` and `ceil` of what lies between -1 and 0: OPA 1.22 gives one more.
- What is made a list from a set or an object, `[x | some x in set]`, has no order; in OPA it is sorted. Write `sort`.
"""


def main() -> int:
    """Write the page, or check it. Gives the exit code."""
    page = "\n".join(_lines())
    if "--check" in sys.argv:
        stale = not PAGE.is_file() or PAGE.read_text() != page
        if stale:
            print(f"{PAGE.name} is stale; run: python -m docs.generate.builtins", file=sys.stderr)
        return int(stale)
    PAGE.write_text(page)
    return 0


def _lines() -> Iterator[str]:
    yield _HEAD
    yield "## Compiled in"
    yield from _table(NATIVE)
    yield "\n## Supplied"
    yield from _table(SUPPLIED)
    yield "\n## Refused"
    yield "| Function | Why | Instead |\n|---|---|---|"
    for name, refusal in sorted(REFUSED.items()):
        yield f"| `{name}` | {refusal.why} | {refusal.instead} |"
    away = ", ".join(f"`{name}`" for name in sorted(WRITTEN_AWAY))
    yield f"\nOPA's compiler's own: {away}.\n"


def _table(names: Iterable[str]) -> Iterator[str]:
    yield "| Function | Fails on |\n|---|---|"
    for name in sorted(names):
        yield f"| `{name}` | {CAN_FAIL.get(name, '')} |"


if __name__ == "__main__":
    sys.exit(main())
