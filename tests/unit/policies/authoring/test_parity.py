"""Both engines are asked the same: what differs is told, and what cannot be known."""

from collections.abc import Iterator
from pathlib import Path, PurePosixPath

import msgspec
import pytest

from core.base.errors import BundleRefusedError, EvaluationError
from policies.authoring.cases import files_of_rules, find_unrelated_rules
from policies.authoring.parity import RecordedQuestion, RecordingEngine, find_differences
from policies.authoring.rego_tests import (
    Outcome,
    find_different_results,
    run_compiled_tests,
    run_tests,
)
from policies.authoring.workspace import Workspace, open_workspace
from policies.bundle.format import JUDGE, NEEDS
from policies.engine.embedded_engine import EmbeddedEngine
from policies.engine.interface import Judgement, ShownFields
from policies.projection.model import NO_POD, Context, encode_context
from tests.tools.provide import provide
from tests.unit.policies.authoring.conftest import rego, write

ENTRY = 'deny contains {"path": "p", "value": "v"} if {\n'
RULE = rego("x.a", ENTRY + "\tnot input.fields.metadata.labels.a\n}\n")
FAILS = rego("x.b", ENTRY + "\tto_number(input.fields.metadata.labels.b) > 1\n}\n")
TESTS = """\
package sallyport.rules.x.a_test

import data.sallyport.rules.x.a

test_passes if count(a.deny) == 1 with input as {"fields": {}}

test_fails if count(a.deny) == 7 with input as {"fields": {}}

test_mocks if a.deny == {1} with a.deny as {1}

test_each[name] if some name in ["a", "b"]

todo_test_later if false
"""
CONTEXT = encode_context(Context("CREATE"))
NO_NUMBER = b'{"metadata":{"labels":{"b":"no number"}}}'


@pytest.fixture(scope="module")
def workspace(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Workspace]:
    """One rule that is well, one whose built-in fails, and tests."""
    folder = tmp_path_factory.mktemp("parity") / "acme"
    files = {"a/a.rego": RULE, "a/a_test.rego": TESTS, "b.rego": FAILS}
    with open_workspace(provide("opa"), [write(folder, files)]) as opened:
        yield opened


async def asked(workspace: Workspace, fields: bytes) -> list[RecordedQuestion]:
    """Return what the embedded engine was asked of a Pod with these fields, and answered."""
    engine = RecordingEngine(EmbeddedEngine(workspace.bundle))
    engine.about = "cases/x.yaml"
    answer = await engine.ask(NO_POD)
    await engine.judge(NO_POD, answer, CONTEXT, ShownFields("Pod", fields))
    engine.close()
    return engine.asked


async def test_equal_answers_are_no_difference(workspace: Workspace) -> None:
    """Of both entry points, whatever they answer."""
    questions = await asked(workspace, b"{}")
    assert [each.entrypoint for each in questions] == [NEEDS, JUDGE]
    assert find_differences(workspace, questions) == []
    assert find_differences(workspace, []) == []


async def test_another_answer_is_told(workspace: Workspace) -> None:
    """With both, and whose question it was."""
    needs, judge = await asked(workspace, b"{}")
    wrong = msgspec.structs.replace(judge, answer=Judgement())
    found = find_differences(workspace, [needs, wrong])
    assert [(each.about, each.entrypoint) for each in found] == [("cases/x.yaml", JUDGE)]
    assert "rules/x/a" not in found[0].embedded
    assert "rules/x/a" in found[0].opa


async def test_a_built_in_that_fails_ends_the_evaluation(workspace: Workspace) -> None:
    """So that there is no answer to compare; the error names the rule."""
    with pytest.raises(EvaluationError, match=r"to_number: .*, in sallyport\.rules\.x\.b\.deny"):
        await asked(workspace, NO_NUMBER)


async def test_a_built_in_that_fails_in_opa_alone_is_told_with_its_place(
    workspace: Workspace,
) -> None:
    """The others' answers are compared still."""
    needs, judge = await asked(workspace, b"{}")
    document = judge.document.replace(b'"fields":{}', b'"fields":' + NO_NUMBER)
    assert NO_NUMBER in document
    failing = msgspec.structs.replace(judge, document=document)
    found = find_differences(workspace, [needs, judge, failing])
    assert [each.entrypoint for each in found] == [JUDGE]
    assert "b.rego:18" in found[0].opa
    assert "to_number" in found[0].opa


async def test_what_opa_answers_otherwise_or_not_at_all_is_told(workspace: Workspace) -> None:
    """An input of another shape makes the answer undefined."""
    _, judge = await asked(workspace, b"{}")
    odd = msgspec.structs.replace(judge, document=b'{"context":{}}')
    assert [each.opa for each in find_differences(workspace, [odd])] == ["undefined"]


def test_compiled_tests_end_as_with_opa(workspace: Workspace) -> None:
    """Also those that stand something in another's place; what is to do is not run."""
    tests = run_tests(workspace)
    outcomes = {test.name.rpartition(".")[2]: test.outcome for test in tests}
    assert outcomes == {
        "test_passes": Outcome.PASSED,
        "test_fails": Outcome.FAILED,
        "test_mocks": Outcome.PASSED,
        "test_each": Outcome.PASSED,
        "todo_test_later": Outcome.SKIPPED,
    }
    compiled = run_compiled_tests(workspace, tests)
    passed = {each.name.rpartition(".")[2]: each.passed for each in compiled}
    assert passed == {
        "test_passes": True,
        "test_fails": False,
        "test_mocks": True,
        "test_each": True,
    }
    assert not any(each.cannot for each in compiled)
    assert find_different_results(tests, compiled) == []
    turned = [msgspec.structs.replace(each, passed=not each.passed) for each in compiled]
    assert find_different_results(tests, turned) == turned


def test_a_test_that_cannot_be_compiled_is_told_and_the_others_run(workspace: Workspace) -> None:
    """Nothing is known of it: that is no difference."""
    tests = run_tests(workspace)
    gone = msgspec.structs.replace(tests[0], name="sallyport.rules.x.a_test.test_gone")
    compiled = run_compiled_tests(workspace, [gone, *tests[1:]])
    assert [each.name for each in compiled if each.cannot] == [gone.name]
    assert len(compiled) == 4
    assert find_different_results([gone, *tests[1:]], compiled) == []


def test_a_test_that_replaces_one_parameter_is_told_what_to_write(tmp_path: Path) -> None:
    """OPA says that it cannot, not how it can be done."""
    more = "#   parameters:\n#     names: {type: array, default: []}\n"
    body = 'deny contains {"path": "p", "value": "v"} if input.kind in wanted.names\n'
    imports = "import data.sallyport.parameters.x.a as wanted\n\n"
    test = (
        "package sallyport.rules.x.a_test\n\nimport data.sallyport.rules.x.a\n\n"
        "test_refused if {\n\tcount(a.deny) == 1 with input.kind as 1\n"
        '\t\twith data.sallyport.parameters.x.a.names as ["Pod"]\n}\n'
    )
    site = write(
        tmp_path / "acme", {"a.rego": rego("x.a", imports + body, more=more), "a_test.rego": test}
    )
    with (
        open_workspace(provide("opa"), [site]) as made,
        pytest.raises(BundleRefusedError, match=r"partially replace(.|\n)+parameters\.<category>"),
    ):
        run_tests(made)


def test_a_case_is_about_the_rules_beside_it(workspace: Workspace) -> None:
    """In its folder and below, else in the one above."""
    site = workspace.places.sites[0]
    files = files_of_rules(workspace.bundle)
    assert files == {
        "rules/x/a": PurePosixPath("rego/site/acme/a/a.rego"),
        "rules/x/b": PurePosixPath("rego/site/acme/b.rego"),
    }
    assert find_unrelated_rules(site / "a", [site], files) == {"rules/x/b"}
    chosen = files | {"rules/y/c": PurePosixPath("rego/library/y/c/c.rego")}
    assert find_unrelated_rules(site / "a", [site], chosen) == {"rules/x/b", "rules/y/c"}
    assert find_unrelated_rules(site, [site], chosen) == frozenset()
    assert find_unrelated_rules(site / "a/more", [site], files) == {"rules/x/b"}
    assert find_unrelated_rules(site, [site], files) == frozenset()
    assert find_unrelated_rules(site / "other", [site], files) == frozenset()
    assert find_unrelated_rules(Path("elsewhere"), [site], files) == frozenset()
