"""All of a bundle's Rego in one module means what it meant in many, or is refused."""

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest

from core.base.errors import BundleRefusedError
from policies.bundle.format import Bundle
from policies.engine.single_module import build_single_module
from tests.harness.programs.availability import require

JUDGE = "package sallyport.judge\n\nanswer := 1\n"
LIB = """package sallyport.lib

# A rule "words" of the same name is elsewhere, too.
words := {"a", "b"}

size(words) := count(words)

default limit := 3

limit := 4 if input.more
"""
DEEP = """package sallyport.lib.deep
import data.sallyport.lib
words contains word if { some word in lib.words; word != "a" }
first[key] := value if {
    some key, value in {"words": 1, `raw # no comment`: 2}
}
params.acme.rule := {"limit": 7, "words": ["x"]}
"""
NEEDS = """package sallyport.needs

import data.sallyport.lib
import data.sallyport.lib as other
import data.sallyport.lib.deep
import data.sallyport.lib.deep.params.acme.rule as parameters
import rego.v1

words := "mine" # not "lib.words"

local if {
	words := [1, 2]
	count(words) == 2
}

shadowed(words) := words.words

chained := 1 if {
	input.nothing
} else := words

answer := {
	"words": words,
	"local": local,
	"shadowed": shadowed({"words": "theirs"}),
	"chained": chained,
	"lib": lib.words,
	"size": lib.size([1, 2, 3]),
	"limit": other.limit,
	"more": limit_with_more,
	"full": data.sallyport.lib.deep.words,
	"first": deep.first.words,
	"raw": deep.first["raw # no comment"],
	"keyed": data.sallyport["lib"].deep["words"],
	"parameters": [parameters.limit, parameters["words"][0], parameters],
	"mocked": mocked,
	"text": "data.sallyport.lib.words, lib.words # words",
	"object": {"words": 1}.words,
	"self": {words: 1 | words := lib.words[_]},
}

limit_with_more := found if found := lib.limit with input.more as true

mocked := found if found := lib.words with data.sallyport.lib.words as {"mock"}
"""
SOURCES = {
    "judge.rego": JUDGE,
    "lib/lib.rego": LIB,
    "lib/deep.rego": DEEP,
    "needs.rego": NEEDS,
}


def bundle(sources: dict[str, str]) -> Bundle:
    """Return a bundle of these files."""
    return Bundle(b"", {}, sources, "0123456789ab")


def evaluate(folder: Path, query: str) -> Any:
    """Return the value of a query over the Rego of a folder, as OPA has it."""
    command: list[str | Path] = [
        require("opa"),
        "eval",
        "-d",
        folder,
        "-f",
        "json",
        "--stdin-input",
        query,
    ]
    done = subprocess.run(command, input=b"{}", capture_output=True, check=False)
    assert done.returncode == 0, done.stdout.decode() + done.stderr.decode()
    return json.loads(done.stdout)["result"][0]["expressions"][0]["value"]


def write(folder: Path, sources: dict[str, str]) -> Path:
    """Write files."""
    for name, text in sources.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    return folder


def test_what_is_named_means_what_it_meant(tmp_path: Path) -> None:
    """Rules, functions, imports, full names, parameters, mocks; and variables that hide them."""
    merged = build_single_module(bundle(SOURCES))
    many = evaluate(write(tmp_path / "many", SOURCES), "data.sallyport.needs.answer")
    one = write(tmp_path / "one", {"merged.rego": merged.text})
    asked = evaluate(one, f"data.{merged.root}.asked_needs")
    assert asked == {"revision": "0123456789ab", "answers": [many]}
    assert many["chained"] == "mine"
    assert many["mocked"] == ["mock"]


def test_a_line_has_its_place_in_the_bundle() -> None:
    """So that an error of the server names file and line as its author knows them."""
    merged = build_single_module(bundle(SOURCES))
    lines = merged.text.split("\n")
    at = next(number for number, line in enumerate(lines, 1) if "limit_with_more :=" in line)
    place = NEEDS[: NEEDS.index("limit_with_more :=")].count("\n") + 1
    assert merged.place(at) == f"needs.rego:{place}"
    assert merged.place(1) == merged.place(10**6) == ""


def test_its_package_is_of_its_revision_and_text() -> None:
    """The same bundle has the same, whenever it is put there; another text has another."""
    root = build_single_module(bundle(SOURCES)).root
    assert build_single_module(bundle(SOURCES), 1_700_000_000).root == root
    assert root.startswith("sallyport_0123456789ab_")
    assert build_single_module(bundle({**SOURCES, "judge.rego": JUDGE + "\n"})).root != root


REFUSED = {
    "import input.a\n\nx := a": (3, "'import input.a'"),
    'x := $"{input.a}"': (3, "a template string"),
    "x := data.sallyport[input.a]": (3, "data.sallyport is no rule"),
    "x := data": (3, "data is no rule"),
    "x := data.other.y": (3, "data.other.y is no rule"),
    "x := data.sallyport.lib": (3, "data.sallyport.lib is no rule"),
    "import data.sallyport.lib\n\nx := [a | a := lib[_]]": (5, "data.sallyport.lib is no rule"),
    "import data.sallyport.lib\n\nx := y if { some lib in [1]; y := lib }": (5, "is no rule"),
    "import data.sallyport.lib.words\n\nf(words) := words": (5, "where a variable stands"),
    "import data.sallyport.lib\n\nlib := 1": (5, "is a rule and an import"),
}


@pytest.mark.parametrize("text", REFUSED)
def test_what_cannot_be_carried_over_is_refused(text: str) -> None:
    """With its place, and what to do instead."""
    line, why = REFUSED[text]
    sources = {**SOURCES, "x.rego": f"package site.x\n\n{text}\n"}
    with pytest.raises(BundleRefusedError) as refused:
        build_single_module(bundle(sources))
    assert str(refused.value).startswith(f"x.rego:{line}: ")
    assert why in str(refused.value)
    assert str(refused.value).endswith("(evaluation.opa.push: false)")


def test_a_bundle_without_an_entry_point_is_refused() -> None:
    """There would be nothing to ask."""
    with pytest.raises(BundleRefusedError, match="no entry point sallyport/judge/answer"):
        build_single_module(bundle({"needs.rego": "package sallyport.needs\n\nanswer := 1\n"}))


def test_names_like_the_new_ones_are_kept_apart(tmp_path: Path) -> None:
    """A variable that is called as a rule will be does not become that rule."""
    needs = "package sallyport.needs\n\nanswer := x if {\n\ts0_answer := 5\n\tx := s0_answer\n}\n"
    merged = build_single_module(bundle({"judge.rego": JUDGE, "needs.rego": needs}))
    write(tmp_path, {"merged.rego": merged.text})
    assert evaluate(tmp_path, f"data.{merged.root}.asked_needs.answers") == [5]
