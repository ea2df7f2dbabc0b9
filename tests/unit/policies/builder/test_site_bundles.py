"""A site's signals, built beside the built-in policies: what they see, and what becomes of them."""

import asyncio
import json
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from core.base.errors import BundleRefusedError
from core.kubernetes.pod import decode_pod
from core.sandbox.decision import Signal
from policies import BUILT_IN_REGO
from policies.build.builder import build
from policies.bundle.format import Rule, read_bundle
from policies.engine.embedded_engine import EmbeddedEngine
from policies.engine.interface import Judgement
from policies.projection.model import Context, encode, encode_context
from policies.projection.pods import project
from tests.tools.provide import provide
from tests.unit.policies.bundles import METADATA, make_site_bundle, signal

ROOT = Path(__file__).parents[4]
EXAMPLE = ROOT / "examples" / "site-signals" / "customer_data"
PAGE = ROOT / "docs" / "sandbox" / "site-signals.md"
OF_A_CUSTOMER = {"example.com/customer": "acme"}


@pytest.fixture(scope="module")
def example(tmp_path_factory: pytest.TempPathFactory) -> Iterator[EmbeddedEngine]:
    """The engine on the example's signal."""
    bundle = tmp_path_factory.mktemp("example") / "my-bundle.tar.gz"
    build(provide("opa"), BUILT_IN_REGO, bundle, [EXAMPLE])
    engine = EmbeddedEngine(read_bundle(bundle))
    yield engine
    engine.close()


def judged(engine: EmbeddedEngine, pod: dict[str, Any], context: Context) -> Judgement:
    """Ask about a Pod, then judge it in a context, as a review does."""
    projection = encode(project(decode_pod(json.dumps(pod).encode())))

    async def both() -> Judgement:
        answer = await engine.ask(projection)
        return await engine.judge(projection, answer, encode_context(context))

    return asyncio.run(both())


def pod(*volumes: dict[str, Any]) -> dict[str, Any]:
    """Return a Pod with these volumes."""
    container = {"name": "a", "image": "a"}
    return {"metadata": {}, "spec": {"containers": [container], "volumes": list(volumes)}}


NFS = {"name": "v", "nfs": {"server": "s.example", "path": "/"}}
SCRATCH = {"name": "v", "emptyDir": {}}


def test_the_example_reads_the_namespaces_label_and_the_pods_volumes(
    example: EmbeddedEngine,
) -> None:
    """Both must be met; it stands beside the built-in signals of the same request."""
    found = judged(
        example,
        pod(SCRATCH, NFS),
        Context("CREATE", namespace_labels=OF_A_CUSTOMER, services=("web",)),
    )
    assert found.signals == (
        Signal("sandbox/exposure/service", "metadata.labels", "web"),
        Signal("sandbox/customer_data/training", "spec.volumes[1]", "acme"),
    )
    of_others = Context("CREATE", namespace_labels={"example.com/other": "acme"})
    assert judged(example, pod(NFS), of_others).signals == ()
    of_the_customer = Context("CREATE", namespace_labels=OF_A_CUSTOMER)
    assert judged(example, pod(SCRATCH), of_the_customer).signals == ()


def test_the_examples_metadata_is_the_gates(example: EmbeddedEngine) -> None:
    """Points, message and source, as of a built-in rule, and said to be the site's."""
    assert example.rules["sandbox/customer_data/training"] == Rule(
        id="sandbox/customer_data/training",
        title="Data of a customer",
        description=(
            "The namespace holds the training data of one customer, and the Pod mounts a volume "
            "that other machines hold: what breaks out of it could carry that customer's data away."
        ),
        message="reads data of the customer {value}",
        remedy=(
            "Work on a sample without the customer's data, in a namespace without the label "
            "example.com/customer."
        ),
        since=1,
        points=25,
        sources=["https://attack.mitre.org/techniques/T1530/"],
        site=True,
    )


def test_the_examples_tests_pass_and_stay_out_of_the_bundle(tmp_path: Path) -> None:
    """By OPA alone, as the page says; the bundle has the two other files."""
    command = [str(provide("opa")), "test", "--ignore", "*.yaml", str(EXAMPLE)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout.strip()) == (0, "PASS: 3/3")
    bundle = tmp_path / "b.tar.gz"
    build(provide("opa"), BUILT_IN_REGO, bundle, [EXAMPLE])
    files = [name for name in read_bundle(bundle).sources if name.startswith("rego/site/")]
    assert sorted(files) == [
        "rego/site/customer_data/training.rego",
        "rego/site/customer_data/volumes.rego",
    ]


@pytest.mark.parametrize(
    "file",
    [
        "customer_data/training.rego",
        "customer_data/training_test.rego",
        "customer_data/volumes.rego",
        "cluster.yaml",
        "pod.yaml",
    ],
)
def test_the_page_shows_the_example_as_it_is(file: str) -> None:
    """What a reader copies is what these tests build and judge."""
    path = EXAMPLE.parent / file
    assert f"```{path.suffix[1:]}\n{path.read_text()}```" in PAGE.read_text()


def test_several_folders_and_files_make_one_bundle(tmp_path: Path) -> None:
    """A signal may have several files of one folder, and helpers of another."""
    helped = signal("data.site.shared.yes", entry='{"path": "a", "value": "1"}')
    more = 'package sallyport.sandbox.acme.x\n\nsignals contains {"path": "b", "value": "2"}\n'
    engine = EmbeddedEngine(
        read_bundle(
            make_site_bundle(
                tmp_path,
                {"x.rego": helped, "deep/er/more.rego": more},
                {"y.rego": signal(package="sallyport.sandbox.acme.y")},
                {
                    "h.rego": "package site.shared\n\nyes if true\n",
                    "z.rego": signal(package="sallyport.sandbox.code.z"),
                },
            )
        )
    )
    answer = engine.evaluate(b'{"containers": []}')
    projection = b'{"containers": [], "os": "trigger"}'
    context = encode_context(Context("CREATE"))
    found = asyncio.run(engine.judge(projection, answer, context))
    engine.close()
    assert found.signals == (
        Signal("sandbox/acme/x", "a", "1"),
        Signal("sandbox/acme/x", "b", "2"),
        Signal("sandbox/acme/y", "spec", "v"),
        Signal("sandbox/code/z", "spec", "v"),
    )


def test_a_signal_sees_what_the_object_needs(tmp_path: Path) -> None:
    """Each privilege with rule, path and container, as ask gave them."""
    condition = (
        'some need in input.needs\n\tneed.privilege == "container/privileged"\n\t'
        'need.rule == "privileges/container/privileged"\n\tneed.container == "a"'
    )
    entry = '{"path": need.path, "value": need.privilege, "container": need.container}'
    engine = EmbeddedEngine(
        read_bundle(make_site_bundle(tmp_path, {"x.rego": signal(condition, entry=entry)}))
    )
    made = pod()
    made["spec"]["os"] = {"name": "trigger"}
    made["spec"]["containers"][0]["securityContext"] = {"privileged": True}
    found = judged(engine, made, Context("CREATE"))
    engine.close()
    path = "spec.containers[0].securityContext.privileged"
    assert found.signals == (Signal("sandbox/acme/x", path, "container/privileged", "a"),)


def test_same_sources_give_the_same_bytes(tmp_path: Path) -> None:
    """From another folder of the same name; no path of the machine gets in."""
    site = {"x.rego": signal()}
    one = make_site_bundle(tmp_path / "one", site)
    other = make_site_bundle(tmp_path / "other", site)
    assert one.read_bytes() == other.read_bytes()
    assert str(tmp_path).encode() not in b"".join(
        text.encode() for text in read_bundle(one).sources.values()
    )


def test_built_in_policies_answer_as_without_the_site(
    builtin_engine: EmbeddedEngine, example: EmbeddedEngine
) -> None:
    """Needs, denials, signals and features of the object are those of the built-in rules."""
    for made in (pod(), pod(NFS), pod(SCRATCH)):
        projection = encode(project(decode_pod(json.dumps(made).encode())))
        assert example.evaluate(projection) == builtin_engine.evaluate(projection)


def test_points_of_a_site_may_be_none_or_many(tmp_path: Path) -> None:
    """0 and 1000 are whole numbers from 0 to 1000."""
    for points in (0, 1000):
        text = signal(metadata=METADATA.replace("points: 25", f"points: {points}"))
        bundle = read_bundle(make_site_bundle(tmp_path, {"x.rego": text}))
        assert bundle.rules["sandbox/acme/x"].points == points


def test_a_refused_site_leaves_the_old_bundle(tmp_path: Path) -> None:
    """Nothing is left beside it either."""
    output = tmp_path / "bundle.tar.gz"
    output.write_bytes(b"old")
    with pytest.raises(BundleRefusedError):
        make_site_bundle(tmp_path, {"x.rego": signal("time.now_ns() > 0")})
    assert output.read_bytes() == b"old"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["acme", "bundle.tar.gz"]
