"""What no account of Sallyport's may do, tried with real requests and each one's own token."""

import pytest

from core.base import names
from tests.api.chart.attempts import FORBIDDEN
from tests.harness.programs.client import Client, Json
from tests.harness.programs.helm import NAMESPACE

ACCOUNTS = ("sallyport-gate", "sallyport-control", "sallyport-auditor")


def test_there_is_much_to_try() -> None:
    """The tests below are not vacuous."""
    assert len(FORBIDDEN) > 30


@pytest.mark.parametrize("account", ACCOUNTS)
async def test_rbac_forbids_each_listed_request_to_the_charts_accounts(
    admin: Client, account: str
) -> None:
    """RBAC itself says no, to this very account."""
    client = admin.with_token(await admin.create_token(account, NAMESPACE))
    for what, attempt in FORBIDDEN.items():
        if (account, what) == ("sallyport-control", "register a webhook"):
            continue  # RBAC limits no `create` by name: docs/adr/0080.
        status, answer = await attempt.make(client)
        assert status == 403, (what, status, answer["message"])
        said = f'User "system:serviceaccount:{NAMESPACE}:{account}" cannot'
        assert said in answer["message"], what


async def test_an_admin_could(admin: Client) -> None:
    """The requests are well formed: none of them is forbidden as such.

    To speak to a kubelet is judged by a webhook, which fails closed: no gate runs here.
    """
    for what, attempt in FORBIDDEN.items():
        if attempt.method == "GET" and "watch" not in attempt.path and not attempt.impersonate:
            status, answer = await attempt.make(admin)
            judged = "connect.sallyport.dev" in answer.get("message", "")
            assert status in {200, 404} or judged, (what, answer)


@pytest.mark.parametrize("account", ACCOUNTS)
@pytest.mark.parametrize(
    ("verb", "group", "resource"),
    [
        ("use", names.GROUP, "containerprofiles"),
        ("exempt", names.GROUP, "namespaces"),
        ("approve", names.GROUP, "approvaltiers"),
        ("impersonate", "", "users"),
        ("impersonate", "", "serviceaccounts"),
        ("escalate", "rbac.authorization.k8s.io", "clusterroles"),
        ("bind", "rbac.authorization.k8s.io", "clusterroles"),
        ("approve", "certificates.k8s.io", "signers"),
        ("*", "*", "*"),
    ],
)
async def test_it_has_no_right_that_is_worth_more_than_it_looks(
    admin: Client, account: str, verb: str, group: str, resource: str
) -> None:
    """pss-restricted is everyone's; any other profile, and what gives rights, is not its."""
    client = admin.with_token(await admin.create_token(account, NAMESPACE))
    review: Json = {
        "apiVersion": "authorization.k8s.io/v1",
        "kind": "SelfSubjectAccessReview",
        "spec": {"resourceAttributes": {"verb": verb, "group": group, "resource": resource}},
    }
    path = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews"
    status, answer = await client.request("POST", path, review)
    assert (status, answer["status"]["allowed"]) == (201, False)
