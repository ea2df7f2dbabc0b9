"""Our Pod Security profiles say what Kubernetes' own Pod Security admission says."""

from tests.harness.oracles.pod_security_agreement import Tally, compare
from tests.harness.oracles.pod_security_source import check_files, forbidden_reasons
from tests.harness.oracles.verdicts import Verdicts
from tests.harness.programs.availability import skip_or_fail
from tests.harness.programs.client import Client
from tests.tools.provide import CannotProvideError

VALID_PODS = 2000
"""Enough for every single change to the restricted base, and a good part of the others."""

SEED = 1


def explain(tally: Tally) -> str:
    """Return the numbers and the first disagreements, for a failure."""
    first = (
        f"{each.pod}\n  {each.level}, {each.view}: ours {each.ours}, theirs {each.theirs} "
        f"{each.message}"
        for each in tally.disagreements[:20]
    )
    return "\n".join([*tally.lines(), *first])


async def test_profiles_agree_with_pod_security(client: Client, verdicts: Verdicts) -> None:
    """On every valid Pod, at every level, our verdict must be that of kube-apiserver.

    The Pods must also be worth asking about: each verdict is common, and each reason that
    Pod Security can give for a refusal is given.
    """
    tally = await compare(client, verdicts.judge, seed=SEED, valid=VALID_PODS)
    assert not tally.disagreements, explain(tally)
    assert min(tally.verdicts.values()) > tally.valid / 20, explain(tally)
    assert len(tally.verdicts) == 3, explain(tally)
    assert unseen_reasons(tally) == set()


def unseen_reasons(tally: Tally) -> set[str]:
    """Return the reasons for a refusal that no Pod was refused for."""
    try:
        files = check_files()
    except CannotProvideError as error:
        skip_or_fail(error)
    reasons = {reason for file in files for reason in forbidden_reasons(file.read_text())}
    return {
        reason for reason in reasons if not any(reason in message for message in tally.refusals)
    }
