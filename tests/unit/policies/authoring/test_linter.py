"""What the lint finds, and what it lets be: each of its rules with Rego that is and that is not."""

from collections.abc import Mapping
from pathlib import Path

import msgspec
import pytest

from policies.authoring.lint.linter import lint
from policies.authoring.lint.problems import Level, Problem
from policies.site.choices import NO_CHOICES
from tests.tools.provide import provide
from tests.unit.policies.authoring.conftest import rego, write

ENTRY = 'deny contains {"path": "p", "value": "v"} if {\n'
LONG = "a" * 201
PARAMETER = "#   parameters:\n#     names: {type: array, default: []}\n"

FOUND = {
    "to_number": (
        "failing-builtin",
        ENTRY + "\tto_number(input.fields.metadata.labels.a) > 1\n}\n",
    ),
    "pattern": (
        "failing-builtin",
        ENTRY + "\tregex.match(input.fields.metadata.labels.a, input.kind)\n}\n",
    ),
    "negated": (
        "not-of-absent",
        ENTRY + '\tnot startswith(input.fields.metadata.labels.a, "x")\n}\n',
    ),
    "helper": (
        "not-of-absent",
        ENTRY + '\tnot good(input.fields.metadata.labels.a)\n}\n\ngood(x) if x == "a"\n',
    ),
    "member": ("not-of-absent", ENTRY + '\tnot input.fields.metadata.labels.a in {"b"}\n}\n'),
    "item": (
        "not-of-absent",
        ENTRY
        + "\tsome container in input.projection.containers\n"
        + '\tnot startswith(container.image, "x")\n}\n',
    ),
    "entry": (
        "not-of-absent",
        ENTRY
        + "\tsome one in named\n\tnot startswith(one.name, input.kind)\n}\n\n"
        + 'named contains {"name": name, "at": 1} if some name in input.needs\n\n'
        + 'named contains {"at": 2} if input.kind == "x"\n',
    ),
    "entry_of_an_argument": (
        "not-of-absent",
        ENTRY
        + "\tfound(input.needs)\n}\n\n"
        + "found(named) if {\n\tsome one in named\n\tnot startswith(one.name, input.kind)\n}\n\n"
        + 'named contains {"name": name} if some name in input.needs\n',
    ),
    "optional_of_parameter": (
        "not-of-absent",
        "import data.sallyport.parameters.x.optional_of_parameter as wanted\n\n"
        + ENTRY
        + "\tsome each in wanted.names\n\tnot startswith(each.b, input.kind)\n}\n",
    ),
    "is_false": ("equals-false", ENTRY + "\tinput.projection.hostNetwork == false\n}\n"),
    "is_not_true": ("equals-false", ENTRY + "\tinput.projection.hostNetwork != true\n}\n"),
    "unequal": ("unequal-absent", ENTRY + '\tinput.fields.metadata.labels.a != "b"\n}\n'),
    "long_text": (
        "long-message",
        f'deny contains {{"path": "p", "value": "v", "message": "{LONG}"}} if input.kind == "x"\n',
    ),
}
LEFT = {
    "literal_pattern": ENTRY + '\tregex.match("a", input.kind)\n}\n',
    "plain_not": ENTRY + "\tnot input.fields.metadata.labels.a\n}\n",
    "not_equal": ENTRY + '\tnot input.fields.metadata.labels.a == "b"\n}\n',
    "with_default": (
        ENTRY
        + '\tnot startswith(object.get(input.fields, ["metadata", "labels", "a"], ""), "b")\n}\n'
    ),
    "sure": (
        ENTRY
        + "\tinput.fields.metadata.labels.a\n"
        + '\tnot startswith(input.fields.metadata.labels.a, "b")\n}\n'
    ),
    "entries": (
        ENTRY
        + "\tsome number, one in named\n\tnot startswith(one.name, input.kind)\n"
        + "\tnumber\n}\n\n"
        + 'named contains {"name": name, "at": 1} if some name in input.needs\n\n'
        + "named contains made if {\n\tinput.kind\n"
        + '\tmade := {"name": "x"}\n}\n'
    ),
    "demanded_of_parameter": (
        "import data.sallyport.parameters.x.demanded_of_parameter as wanted\n\n"
        + ENTRY
        + "\tsome each in wanted.names\n\tnot startswith(each.a, input.kind)\n}\n"
    ),
    "always_there": ENTRY + '\tnot startswith(input.context.namespace, "b")\n}\n',
    "is_true": ENTRY + "\tinput.projection.hostNetwork == true\n}\n",
    "meant": (
        ENTRY
        + "\t# It is a number: the API says so. lint:ignore failing-builtin\n"
        + "\t# lint:ignore failing-builtin\n"
        + "\tto_number(input.fields.metadata.labels.a) > 1\n}\n"
    ),
}
ITEMS = (
    "#   parameters:\n#     names:\n#       type: array\n#       default: []\n"
    "#       items:\n#         type: object\n"
    "#         properties: {a: {type: string}, b: {type: string}}\n#         required: [a]\n"
)
OWN = {"failing-builtin", "not-of-absent", "equals-false", "unequal-absent", "long-message"}


def linted(folder: Path, files: Mapping[str, str]) -> list[Problem]:
    """Return what is found in a folder of these files, with paths from it on."""
    found = lint(provide("opa"), [write(folder / "acme", files)], NO_CHOICES, None)
    prefix = f"{folder}/acme/"
    return [msgspec.structs.replace(it, file=it.file.removeprefix(prefix)) for it in found]


@pytest.fixture(scope="module")
def of_expressions(tmp_path_factory: pytest.TempPathFactory) -> list[Problem]:
    """What is found in all of the above, each a rule of its own."""
    bodies = {name: body for name, (_, body) in FOUND.items()} | LEFT
    files = {
        f"{name}.rego": rego(f"x.{name}", body, more=ITEMS if "_of_parameter" in name else "")
        for name, body in bodies.items()
    }
    return linted(tmp_path_factory.mktemp("lint"), files)


@pytest.mark.parametrize("name", FOUND)
def test_what_may_be_undefined_is_found(of_expressions: list[Problem], name: str) -> None:
    """Once, by its id, in a line of the rule's body."""
    found = [it for it in of_expressions if it.file == f"{name}.rego" and it.id in OWN]
    assert [it.id for it in found] == [FOUND[name][0]]
    assert found[0].line >= 17
    assert found[0].column >= 1
    assert found[0].hint


@pytest.mark.parametrize("name", LEFT)
def test_what_is_sure_is_left(of_expressions: list[Problem], name: str) -> None:
    """Also what the author says is meant."""
    assert [it for it in of_expressions if it.file == f"{name}.rego" and it.id in OWN] == []


def test_locals_are_warned_of_and_inputs_are_errors(of_expressions: list[Problem]) -> None:
    """Of an element nobody knows whether it may lack the field."""
    levels = {it.file: it.level for it in of_expressions if it.id == "not-of-absent"}
    assert levels["item.rego"] is Level.WARNING
    assert levels["negated.rego"] is Level.ERROR


CUSTOM = {
    "direct": '\tstartswith(input.fields.spec.image, "x")\n',
    "operator": "\tinput.fields.spec.count + 1 > 5\n",
    "element": '\tsome image in input.fields.spec.images\n\tlower(image) == "x"\n',
    "part": '\tsome each in input.fields.spec.images\n\tname := each.name\n\tlower(name) == "x"\n',
}
TESTED = {
    "tested": "\tis_string(input.fields.spec.image)\n" + CUSTOM["direct"],
    "any_type": "\tis_string(input.fields.spec.image)\n",
    "compared": '\tinput.fields.spec.image == "x"\n',
    "wrapped": '\tdata.sallyport.lib.unlike(input.fields.spec.image, "x")\n',
    "all_of_them": '\tobject.get(input.fields, ["spec", "image"], "") == "x"\n',
    "of_the_context": '\tstartswith(input.context.namespace, "x")\n',
}


def test_fields_of_custom_kinds_are_tested_for_their_types(tmp_path: Path) -> None:
    """What the API server has checked is not; whose type nothing checks, is warned of once."""

    def files(kind: str) -> dict[str, str]:
        bodies = (CUSTOM | TESTED).items()
        made = {
            name: rego(f"x.{name}", f"{ENTRY}{body}}}\n", fields="spec") for name, body in bodies
        }
        return {
            f"{name}.rego": text.replace("kinds: [Pod]", f"kinds: [{kind}]")
            for name, text in made.items()
        }

    def found(folder: str, kind: str) -> list[tuple[str, Level]]:
        problems = linted(tmp_path / folder, files(kind))
        return sorted((it.file, it.level) for it in problems if it.id == "untyped-field")

    expected = sorted((f"{name}.rego", Level.WARNING) for name in CUSTOM)
    assert found("custom", "example.com/Tool") == expected
    assert found("known", "apps/Deployment") == []


def test_metadata_is_held_against_the_rego(tmp_path: Path) -> None:
    """Fields and parameters that are declared and not read, and the other way round."""
    labelled = ENTRY + "\tnot input.fields.metadata.labels.a\n}\n"
    files = {
        "unread.rego": rego("x.unread", labelled, fields="metadata.labels, metadata.name"),
        "undeclared.rego": rego("x.undeclared", labelled, fields="metadata.name"),
        "unused.rego": rego("x.unused", labelled, more=PARAMETER),
        "used.rego": rego(
            "x.used",
            "import data.sallyport.parameters.x.used as wanted\n\n"
            'deny contains {"path": "p", "value": name} if {\n'
            "\tsome name in wanted.names\n\tnot input.fields.metadata.labels[name]\n}\n",
            more=PARAMETER,
        ),
        "verb.rego": rego("x.verb", labelled, remedy="The label must be set."),
    }
    wanted = {"unread-field", "undeclared-field", "unused-parameter", "remedy-verb"}
    found = [it for it in linted(tmp_path, files) if it.id in wanted]
    assert [(it.file, it.line, it.id, it.level) for it in found] == [
        ("undeclared.rego", 14, "unread-field", Level.WARNING),
        ("undeclared.rego", 18, "undeclared-field", Level.ERROR),
        ("unread.rego", 14, "unread-field", Level.WARNING),
        ("unused.rego", 16, "unused-parameter", Level.ERROR),
        ("verb.rego", 12, "remedy-verb", Level.WARNING),
    ]


def test_rules_without_tests_and_cases_are_named(tmp_path: Path) -> None:
    """A test asks for the set; cases show an object that is found and one that is not."""
    rule = rego("x.a", ENTRY + "\tnot input.fields.metadata.labels.a\n}\n")
    test = "package sallyport.rules.x.a_test\n\nimport data.sallyport.rules.x.a\n\n"
    test += "test_refused if count(a.deny) == 1 with input as {}\n"
    pod = "object: {apiVersion: v1, kind: Pod, metadata: {name: a}}\n"
    case = f"name: a\nwhy: b\n{pod}expect: deny\nfindings: [{{rule: x/a}}]\n"
    wanted = {"untested", "no-failing-case", "no-passing-case", "case"}

    def ids(folder: str, files: dict[str, str]) -> list[str]:
        return [it.id for it in linted(tmp_path / folder, files) if it.id in wanted]

    assert ids("1", {"a.rego": rule}) == ["no-failing-case", "no-passing-case", "untested"]
    files = {"a.rego": rule, "a_test.rego": test, "cases/refused.yaml": case}
    assert ids("2", files) == ["no-passing-case"]
    files["cases/admitted.yaml"] = f"name: a\nwhy: b\n{pod}expect: allow\n"
    assert ids("3", files) == []
    files["cases/broken.yaml"] = "name: a\n"
    assert ids("4", files) == ["case"]


def test_what_opa_says_has_its_place(tmp_path: Path) -> None:
    """A field that the input does not have, what is not formatted, and what is no Rego."""
    body = ENTRY + "\tinput.projection.hostNetwrk\n}\n"
    found = linted(tmp_path / "1", {"a.rego": rego("x.a", body)})
    misspelt = next(it for it in found if it.id == "type-error")
    assert (misspelt.file, misspelt.line) == ("a.rego", 18)
    assert "undefined ref: input.projection.hostNetwrk" in misspelt.what
    found = linted(
        tmp_path / "2", {"a.rego": rego("x.a", ENTRY + "\n\n\tinput.kind  ==  `x`\n}\n")}
    )
    assert [(it.file, it.line) for it in found if it.id == "format"] == [("a.rego", 18)]
    found = linted(tmp_path / "3", {"a.rego": rego("x.a", ENTRY + "\tthis is no Rego\n}\n")})
    assert [(it.file, it.line) for it in found if it.id in {"parse", "build"}] == [("a.rego", 18)]


def test_what_regal_says_is_added(tmp_path: Path) -> None:
    """With its own ids, where it is on PATH."""
    regal = tmp_path / "regal"
    said = (
        '{"violations": [{"title": "prefer-some-in", "description": "Prefer some .. in", '
        '"level": "error", "location": {"file": "acme/a.rego", "row": 3, "col": 2}, '
        '"related_resources": [{"ref": "https://example.com/x"}]}]}'
    )
    regal.write_text(f"#!/bin/sh\ncat <<'END'\n{said}\nEND\nexit 3\n")
    regal.chmod(0o755)
    folder = write(tmp_path / "acme", {"a.rego": rego("x.a", ENTRY + '\tinput.kind == "x"\n}\n')})
    found = lint(provide("opa"), [folder], NO_CHOICES, regal)
    assert [it for it in found if it.id.startswith("regal-")] == [
        Problem(
            "acme/a.rego",
            3,
            2,
            "regal-prefer-some-in",
            Level.ERROR,
            "Prefer some .. in",
            "https://example.com/x",
        )
    ]
