"""The policy that closes a namespace, as the settings of egress render it."""

from app.settings.egress import EgressSection, target_of
from egress.model.openings import CompiledAllowlists
from egress.render.engines import render
from egress.render.generated_objects import DEFAULT_DENY
from kube.client.settings import DefaultDeny
from kube.egress.network_policies import digest_of


def default_deny_of(section: EgressSection) -> DefaultDeny:
    """Return the policy that closes a namespace, as it is rendered for every one.

    Raises:
        SettingsError: a network of the cluster is none.
    """
    objects = render(CompiledAllowlists("any"), target_of(section)).objects
    made = next(each for each in objects if each["metadata"]["name"] == DEFAULT_DENY)
    return DefaultDeny(made["kind"], DEFAULT_DENY, digest_of(made))
