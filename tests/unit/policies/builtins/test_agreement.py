"""Functions that the host supplies do what OPA's own do: made-up calls, answered by both."""

import json
import random
import subprocess
from collections.abc import Callable, Mapping
from decimal import Decimal
from typing import Any, Final

import msgspec
import pytest

from policies.builtins.fallible import CAN_FAIL
from policies.builtins.registry import SUPPLIED
from policies.builtins.rego_repr import order
from policies.builtins.values import UNDEFINED, Set, decode, encode, of_key
from tests.harness.sizes import size
from tests.tools.provide import provide

DATES: Final = ["2026-11-23", "1677-09-21", "2262-04-11", "2024-02-29", "2023-02-29", "0000-01-01"]
CLOCKS: Final = ["05:45:00", "00:00:00", "23:59:59", "24:00:00", "5:45:00", "12:60:00", "23:47:16"]
FRACTIONS: Final = ["", ".5", ",25", ".123456789", ".1234567891", ".", ".854775807"]
OFFSETS: Final = ["Z", "+02:00", "-07:00", "+24:00", "-00:01", "+0200", "", "z", "+25:00"]
ZONES: Final = [
    "UTC",
    "",
    "Europe/Berlin",
    "America/New_York",
    "Asia/Kolkata",
    "Australia/Lord_Howe",
    "America/Sao_Paulo",
    "Africa/Monrovia",
    "Nowhere/None",
    "../etc/passwd",
    "Etc/GMT+3",
]
LAYOUTS: Final = [
    "ANSIC UnixDate RubyDate RFC822 RFC822Z RFC850 RFC1123 RFC1123Z RFC3339 RFC3339Nano".split(),
    ["2006-01-02", "02.01.2006 15:04", "Jan _2 2006 3:04pm", "Monday, 2 January 06", "002 2006"],
    ["__2 2006 15h", "2006-01-02 15:04:05.000", "15:04:05,999 -07", "2006-01-02T15:04:05Z0700"],
    ["_2006", "20060102150405", "MST -070000 Z07:00:00 15:04", "Januar Janet 1 2 3 4 5 03 PM"],
]
SECONDS: Final = 10**9


def _time(rng: random.Random) -> int:
    return rng.choice(
        [0, -1, 2**63 - 1, -(2**63), 1795412700 * SECONDS, 1711846799 * SECONDS + 1]
        + [rng.randrange(-(2**63), 2**63), rng.randrange(0, 2 * 10**18)] * 6
    )


def timed(rng: random.Random) -> Any:
    """Make up a time as the functions take it: a number, or one with a zone and a layout."""
    time: Any = _time(rng) if rng.random() < 0.95 else rng.choice([1.5, 2**70, "x", None, 1e18])
    layouts = [layout for some in LAYOUTS for layout in some]
    return rng.choice(
        [time, [time], [time, rng.choice(ZONES)], [time, rng.choice(ZONES), rng.choice(layouts)]]
    )


def instant(rng: random.Random) -> str:
    """Make up a time of RFC 3339, or nearly."""
    if rng.random() < 0.5:
        return (
            f"2026-0{rng.randrange(1, 10)}-1{rng.randrange(10)}T1{rng.randrange(10)}:00:00"
            + rng.choice(FRACTIONS)
            + rng.choice(OFFSETS[:5])
        )
    return (
        rng.choice(DATES)
        + rng.choice("TTTTt ")
        + rng.choice(CLOCKS)
        + rng.choice(FRACTIONS)
        + rng.choice(OFFSETS)
    )


def written_and_read(rng: random.Random) -> list[Any]:
    """A layout, with a time that was written by it or by another."""
    layouts = [layout for some in LAYOUTS for layout in some]
    layout = rng.choice(layouts)
    text = SUPPLIED["time.format"]([_time(rng), rng.choice(ZONES[:6]), layout])
    if rng.random() < 0.4:
        place = rng.randrange(len(text) + 1)
        text = (
            text[:place]
            + rng.choice(["", " ", "0", "x", ".5", "-", "T"])
            + text[place + rng.randrange(2) :]
        )
    return [layout if rng.random() < 0.9 else rng.choice(layouts), text]


def duration(rng: random.Random) -> str:
    """Make up a duration, or nearly."""
    units = ["h", "m", "s", "ms", "us", "µs", "μs", "ns", "d", "w", "y", "x", ""]
    numbers = [
        "1",
        "1.5",
        ".5",
        "0",
        "1.",
        ".",
        "1000000",
        "0.000000001",
        str(2**63),
        "1.2.3",
        "007",
    ]
    parts = "".join(rng.choice(numbers) + rng.choice(units) for _ in range(rng.randrange(1, 4)))
    return rng.choice(["", "", "-", "+", "--"]) + rng.choice([parts, parts, parts, "0", ""])


Make = Callable[[random.Random], list[Any]]

WORDS: Final = ["", "a", "ab", "aba", "é", "😀", "a b", "%", "/", "true", "-", "\n", '"', "x<y>&z"]
VALUES: Final[list[Any]] = [
    *[None, True, False, 0, 1, -7, 2**63, 10**25, 1.5, -0.25, 1e21, 1e-7, "", "a\tb"],
    *[[], [1, "a", None], {}, {"b": [1.5], "a": {"k": "é"}}, "😀"],
]
NUMBERS: Final = [
    *[0, 1, -1, 255, 65, 128512, 2**31, -(2**63), 2**64, 10**30, 1.0, 0.1, 123456789.0],
    *[1e6, 1e-5, 100000.0, 2.5, 1e20, 1e21, 1e22, 3.14159, 5e-324, 1.7976931348623157e308],
]


def _word(rng: random.Random) -> str:
    return "".join(rng.choice(WORDS) for _ in range(rng.randrange(4)))


def _value(rng: random.Random) -> Any:
    return rng.choice(VALUES)


def _version(rng: random.Random) -> str:
    if rng.random() < 0.7:
        core = ".".join(rng.choice("0112") for _ in range(3))
        return core + rng.choice(["", "-a", "-a.1", "-1", "-1.2", "-a.b", "-2", f"-{2**70}", "+b"])
    core = ".".join(rng.choice(["0", "1", "2", "10", "01", "9" * 25, ""]) for _ in range(3))
    pre = rng.choice(["", "", "-alpha", "-alpha.1", "-1", "-01", "-1.2", "-a..b", "-", f"-{2**70}"])
    return (
        rng.choice(["", "v", "V"]) + core + pre + rng.choice(["", "", "+b", "+b-1.2", "+", "+a+b"])
    )


def _amount(rng: random.Random) -> str:
    number = rng.choice(
        ["1", "1.5", ".5", "0", "-2", "+3", "1e3", "1e", "1E2", "100", "1.", ".", ""]
    )
    number = rng.choice(
        [number, f"{rng.random() * 1000:.6f}", str(rng.randrange(10**20)), "0.1e-3"]
    )
    units = "m k K Ki ki KI M Mi mi MI G Gi T Ti P Pi E Ei e b kb KB kib KiB MB GiB x mm".split()
    return number + rng.choice(["", *units]) + rng.choice(["", "", "", " ", '"'])


def _address(rng: random.Random) -> str:
    four = ".".join(str(rng.choice([0, 1, 10, 127, 192, 255, 256])) for _ in range(4))
    six = rng.choice(
        ["::", "fe80::1", "2001:db8::", "::ffff:10.0.0.1", "1::2::3", "::1", "ff00::%e"]
    )
    return rng.choice([four, four, six, "010.0.0.1", "1.2.3", "x", ""])


def _network(rng: random.Random) -> str:
    prefixes = ["8", "24", "30", "31", "32", "33", "64", "0", "128", "024", "-1", ""]
    return f"{_address(rng)}/{rng.choice(prefixes)}"


def _small_network(rng: random.Random) -> str:
    return rng.choice(
        [f"10.0.{rng.randrange(4)}.{rng.randrange(0, 256, 4)}/{rng.randrange(22, 33)}"] * 5
        + [
            f"2001:db8::{rng.randrange(16):x}00/{rng.randrange(118, 129)}",
            "10.1.2.3",
            "192.168.0.1",
            "x",
        ]
    )


def _pattern(rng: random.Random) -> str:
    parts = ["a", "b", ".", "a*", "b+?", "(a)", "(?P<n>b)", "[^a]", "^", "$", r"\b", r"\d", "(?i)B"]
    parts += ["(a|ab)", "x?", "é", "(", "[", r"\pL", "a{2,3}", "(?:)", "|"]
    return "".join(rng.choice(parts) for _ in range(rng.randrange(1, 4)))


def _letters(rng: random.Random) -> str:
    return "".join(rng.choice("aabbxé😀 1B") for _ in range(rng.randrange(10)))


def _template(rng: random.Random) -> list[Any]:
    text = ""
    for _ in range(rng.randrange(1, 4)):
        flags = "".join(rng.choice(["", "", "#", "0", "+", "-", " "]) for _ in range(2))
        width = rng.choice(["", "", "", "5", "12", "*", "[1]*", "[2]"])
        precision = rng.choice(["", "", "", ".2", ".0", ".", ".*", ".[1]3"])
        text += rng.choice(["", "x", "é", "%%"]) + "%" + flags + width + precision
        text += rng.choice([*"vvdsssqxXobcUfegGEtTzw%", "[1]d", "[9]v", "[x]s", ""])
    values = [
        rng.choice([_value(rng), rng.choice(NUMBERS), _word(rng)]) for _ in range(rng.randrange(4))
    ]
    return [text, values]


def _json_value(rng: random.Random, depth: int = 2) -> Any:
    kind = rng.randrange(4 if depth else 2)
    if kind == 2:
        return [_json_value(rng, depth - 1) for _ in range(rng.randrange(4))]
    if kind == 3:
        return {rng.choice("abc/~"): _json_value(rng, depth - 1) for _ in range(rng.randrange(4))}
    return rng.choice([0, 1, True, None, "a", 1.0, "0"])


def _patch(rng: random.Random) -> list[Any]:
    value = {"a": [_json_value(rng, 1), 1], "b": {"a": 1, "c": [0, 1]}, "c": _json_value(rng, 1)}
    return [
        rng.choice([value, value, value["a"]]),
        [_step(rng) for _ in range(rng.randrange(1, 3))],
    ]


def _contained(rng: random.Random) -> list[Any]:
    part = _json_value(rng, 2)
    whole: Any = part
    if isinstance(part, dict):
        whole = {**part, rng.choice("abz"): _json_value(rng, 1)}
    elif isinstance(part, list):
        whole = [*part[: rng.randrange(3)], 1, *part]
    return rng.choice(
        [[whole, part], [[whole, 2], [whole]], [{"k": whole}, {"k": part}], [part, whole]]
    )


def _step(rng: random.Random) -> Any:
    parts = ["a", "b", "c", "0", "1", "-", "01", "~0", "~1", "-1", ""]
    path = rng.choice(["", "/"]) + "/".join(rng.choice(parts) for _ in range(rng.randrange(1, 3)))
    listed: Any = [rng.choice(["a", "b", 0, 1, True, 1.5]) for _ in range(rng.randrange(3))]
    step = {
        "op": rng.choice(["add", "remove", "replace", "move", "copy", "test", "x"]),
        "path": rng.choice([path, path, path, listed, 1]),
        "from": rng.choice([path, "/a", "/0", listed]),
        "value": _json_value(rng, 1),
    }
    if step["op"] in {"remove", "move"}:
        # OPA 1.22 itself crashes where nothing is left.
        step |= {key: step[key] or "/a" for key in ("path", "from")}
    if rng.random() < 0.05:
        del step[rng.choice(list(step))]
    return step


def _uuid(rng: random.Random) -> str:
    digits = "".join(rng.choice("0123456789abcdefABCDEF") for _ in range(32))
    digits = digits[:12] + rng.choice("123450f") + digits[13:]
    dashed = "-".join([digits[:8], digits[8:12], digits[12:16], digits[16:20], digits[20:]])
    return rng.choice(
        [dashed, dashed, digits, f"{{{dashed}}}", f"URN:uuid:{dashed}", dashed[:-1], "x" * 36]
    )


def _graph(rng: random.Random) -> list[Any]:
    nodes = "abcd"
    graph = {
        node: rng.choice([None, [rng.choice(nodes + "e") for _ in range(rng.randrange(3))]])
        for node in nodes
        if rng.random() < 0.9
    }
    return [graph, [rng.choice(nodes) for _ in range(rng.randrange(3))]]


def _pair(make: Callable[[random.Random], Any]) -> Make:
    return lambda rng: [make(rng), make(rng)]


def _one(make: Callable[[random.Random], Any]) -> Make:
    return lambda rng: [make(rng)]


def _some(make: Callable[[random.Random], Any]) -> Callable[[random.Random], Any]:
    return lambda rng: [make(rng) for _ in range(rng.randrange(4))]


def _text_or_some(rng: random.Random) -> Any:
    return rng.choice([_word(rng), [_word(rng) for _ in range(rng.randrange(4))]])


def _escaped(rng: random.Random) -> str:
    return "".join(
        rng.choice(["a", "+", "%20", "%", "%zz", "%C3%A9", "&", "=", ";", "é"]) for _ in range(5)
    )


def _range(rng: random.Random) -> list[Any]:
    far = rng.choice([0, 2**70])
    first = far + rng.choice([0, 5, -3])
    return [first, far + rng.choice([0, 9, -9]), rng.choice([1, 2, 0, -1, 2.0, 1.5, 2**66])]


def _options(rng: random.Random) -> Any:
    options = {"pretty": rng.choice([True, False]), "indent": "  ", "prefix": ">", "x": 1}
    return {key: options[key] for key in options if rng.random() < (0.05 if key == "x" else 0.5)}


MAKERS: Final[Mapping[str, Make]] = {
    "base64url.encode_no_pad": _one(_word),
    "crypto.hmac.equal": _pair(_word),
    "crypto.hmac.md5": _pair(_word),
    "crypto.hmac.sha1": _pair(_word),
    "crypto.hmac.sha256": _pair(_word),
    "crypto.hmac.sha512": _pair(_word),
    "crypto.md5": _one(_word),
    "crypto.sha1": _one(_word),
    "crypto.sha256": _one(_word),
    "glob.quote_meta": _one(
        lambda rng: _word(rng) + rng.choice(["*", "?", "[a-b]", "{a,!b}", "\\"])
    ),
    "graph.reachable_paths": _graph,
    "hex.decode": _one(lambda rng: rng.choice(["", "61", "6", "C3A9", "zz", " 61", "c3 a9", "é"])),
    "hex.encode": _one(_word),
    "indexof_n": _pair(_letters),
    "json.marshal_with_options": lambda rng: [_value(rng), _options(rng)],
    "json.patch": _patch,
    "net.cidr_contains_matches": _pair(
        _some(lambda rng: rng.choice([_network(rng), _address(rng), _small_network(rng)]))
    ),
    "net.cidr_expand": _one(_small_network),
    "net.cidr_is_valid": _one(_network),
    "net.cidr_merge": _one(_some(_small_network)),
    "numbers.range_step": _range,
    "object.subset": _contained,
    "regex.find_n": lambda rng: [_pattern(rng), _letters(rng), rng.choice([-1, 0, 1, 2])],
    "regex.replace": lambda rng: [
        _letters(rng),
        _pattern(rng),
        rng.choice(["", "$1", "${n}", "$1x", "$$", "$", "<$0>", "${1}é", "$9", "${"]),
    ],
    "regex.split": lambda rng: [_pattern(rng), _letters(rng)],
    "regex.template_match": lambda rng: [
        rng.choice(["urn:{.*}", "a{b{2}}c", "{", "a}b{", "x.{[0-9]+}", "é{a}"]),
        rng.choice(["urn:x", "abbc", "x.12", "xy12", "éa"]),
        "{",
        rng.choice(["}", "}", "]", "}}"]),
    ],
    "semver.compare": _pair(_version),
    "semver.is_valid": _one(_version),
    "sprintf": _template,
    "strings.any_prefix_match": _pair(_text_or_some),
    "strings.any_suffix_match": _pair(_text_or_some),
    "strings.count": _pair(_letters),
    "strings.split_n": lambda rng: [
        _letters(rng),
        rng.choice(["", "a", "b", "é", "ab"]),
        rng.choice([0, 1, 2, -1, -2, 99, 1.5]),
    ],
    "time.add_date": lambda rng: [
        timed(rng),
        *(rng.choice([0, 1, -1, 13, -400, 1.5]) for _ in range(3)),
    ],
    "time.clock": _one(timed),
    "time.date": _one(timed),
    "time.diff": _pair(timed),
    "time.format": _one(timed),
    "time.parse_duration_ns": _one(duration),
    "time.parse_ns": written_and_read,
    "time.parse_rfc3339_ns": _one(instant),
    "time.weekday": _one(timed),
    "units.parse": _one(_amount),
    "units.parse_bytes": _one(_amount),
    "urlquery.decode": _one(_escaped),
    "urlquery.decode_object": _one(_escaped),
    "urlquery.encode": _one(_word),
    "urlquery.encode_object": lambda rng: [
        {_word(rng): rng.choice([_word(rng), [_word(rng)], ["b", "a"], 1, []]) for _ in range(3)}
    ],
    "uuid.parse": _one(_uuid),
}
"""For each function how arguments are made up; casts are OPA's of Rego before 1.0, and left out."""


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


CASTS = {name for name in SUPPLIED if name.startswith("cast_")}
"""Of Rego before 1.0, which `opa eval` does not know; OPA's cases have them."""

COUNT = size(ci=150, proof=3000)


@pytest.fixture(scope="module")
def theirs() -> dict[str, list[str]]:
    """What OPA answers to all calls, in one process."""
    return opa_answers({name: calls(name, COUNT) for name in sorted(MAKERS)})


def test_every_function_is_called() -> None:
    """None is supplied without being compared."""
    assert set(MAKERS) == SUPPLIED.keys() - CASTS


@pytest.mark.parametrize("name", sorted(MAKERS))
def test_function_agrees_with_opa(name: str, theirs: dict[str, list[str]]) -> None:
    """The same answer, or none where OPA has none; or an error that says it is not supplied."""
    asked = calls(name, COUNT)
    ours = [our_answer(name, arguments) for arguments in asked]
    differ = [
        (arguments, wanted, given)
        for arguments, wanted, given in zip(asked, theirs[name], ours, strict=True)
        if given not in {wanted, UNSUPPLIED_TEXT}
    ]
    assert differ == []
    answered = [given for given in ours if given not in {UNDEFINED_TEXT, UNSUPPLIED_TEXT}]
    assert len(answered) >= COUNT // 20
    assert ours.count(UNSUPPLIED_TEXT) <= COUNT // 10


def test_functions_that_fail_on_text_are_listed(theirs: dict[str, list[str]]) -> None:
    """What OPA leaves undefined for a text that it does not like, the linter knows of."""
    failing = {
        name
        for name, answers in theirs.items()
        for arguments, answer in zip(calls(name, COUNT), answers, strict=True)
        if answer == UNDEFINED_TEXT and all(isinstance(each, str) for each in arguments)
    }
    assert {"units.parse", "semver.compare"} <= failing <= CAN_FAIL.keys()
