"""What of objects is read where somebody is looked back on, beside their metadata."""

from typing import Final

import msgspec


class AnnotatedMeta(msgspec.Struct, frozen=True):
    """`metadata` of a ServiceAccount."""

    name: str = ""
    namespace: str = ""
    annotations: dict[str, str] | None = None


class Annotated(msgspec.Struct):
    """A ServiceAccount."""

    metadata: AnnotatedMeta = AnnotatedMeta()


class AccountSpec(msgspec.Struct, frozen=True, rename="camel"):
    """`spec` of a Pod."""

    service_account_name: str = ""


class AccountPod(msgspec.Struct):
    """A Pod."""

    spec: AccountSpec = AccountSpec()


class Naming(msgspec.Struct, frozen=True, rename="camel"):
    """Whom it names."""

    people: list[str] | None = None
    service_accounts: list[str] | None = None


class NamingGrant(msgspec.Struct):
    """An AccessGrant."""

    spec: Naming = Naming()


NAMING: Final = msgspec.json.Decoder(NamingGrant)
ANNOTATED: Final = msgspec.json.Decoder(Annotated)
ACCOUNT_NAME: Final = msgspec.json.Decoder(AccountPod)
