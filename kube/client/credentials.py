"""Where kube-apiserver is and who we are to it: a kubeconfig file, or the Pod's own account."""

import asyncio
import logging
import re
from contextvars import ContextVar
from pathlib import Path
from typing import Final
from urllib.parse import urlsplit

import structlog
from kubernetes.aio.client.configuration import Configuration
from kubernetes.aio.config import ConfigException, load_incluster_config, load_kube_config
from kubernetes.aio.config.kube_config import KubeConfigLoader, refresh_token

from core.base.errors import SettingsError
from network.error_texts import describe

_FIELD: Final = "clusters[].cluster.server"

_CONFIG_PROBLEMS: Final = (
    (r"Expected key ([a-z-]+) in ", "key {} is missing"),
    (r"Expected object with name ", "a context, cluster or user is named that is not in it"),
    (r"Expected only one object ", "two of its contexts, clusters or users have one name"),
    (r"Expected all values in ", "one of its contexts, clusters or users has no name"),
    (r"Expected .* to be a list", "contexts, clusters and users must be lists"),
    (r"File does not exists: ", "a file that it names does not exist"),
    (r"exec: process returned (-?\d+)", "users[].user.exec: the plugin's exit code is {}"),
    (r"exec: failed to decode ", "users[].user.exec: the plugin's output is not JSON"),
    (r"exec: malformed re\w+\. missing key '(\w+)'", "users[].user.exec: {} is missing"),
    (r"exec: missing ", "users[].user.exec: the plugin gave no token and no certificate"),
    (r"exec: plugin api version ", "users[].user.exec: the plugin speaks another apiVersion"),
    (r"oidc: ", "users[].user.auth-provider: the token could not be refreshed"),
    (r"(Service|Cert|Token) .*(not set|empty|not exist)", "its {} is {}"),
)
"""Beginnings of what kubernetes.aio says, which quotes an entry of a kubeconfig or what a plugin
wrote, and what is passed on of it."""

_log = structlog.get_logger(__name__)
_collected: ContextVar[list[str] | None] = ContextVar("_collected", default=None)
"""Where the problems of a plugin go while a kubeconfig is read."""


def _describe_config(text: str) -> str:
    """Say what kubernetes.aio found wrong with credentials; empty for an unknown text."""
    for pattern, says in _CONFIG_PROBLEMS:
        if match := re.search(pattern, text):
            return says.format(*(group.lower() for group in match.groups()))
    return ""


class _Values(logging.Filter):
    """Takes the values out of what kubernetes.aio logs.

    A plugin that fails is only logged there, with all it wrote to standard error.
    """

    def filter(self, record: logging.LogRecord) -> bool:
        if record.levelno < logging.WARNING:
            return False
        says = _describe_config(record.getMessage()) or "the credentials could not be refreshed"
        record.msg, record.args, record.exc_info = says, (), None
        collected = _collected.get()
        if collected is None:
            return True
        collected.append(says)
        return False


logging.getLogger(KubeConfigLoader.__module__).addFilter(_Values())


class Credentials:
    """An address and an identity, kept fresh.

    A service account's token is read again each minute, and a plugin's (`exec`, such as
    kubelogin) is asked for again before it expires; a plugin's client certificate is not.
    """

    def __init__(self, configuration: Configuration, refresh: asyncio.Task[None] | None) -> None:
        self.configuration = configuration
        self._refresh = refresh

    @classmethod
    async def read(cls, kubeconfig: Path | None) -> "Credentials":
        """Read a kubeconfig file; None is the service account of the Pod that this runs in.

        Raises:
            SettingsError: it is missing or broken. It never repeats a value.
        """
        _check_exists(kubeconfig)
        configuration = Configuration()
        where = f"kubeconfig {kubeconfig}" if kubeconfig else "the Pod's service account"
        problems: list[str] = []
        collecting = _collected.set(problems)
        try:
            loader = await _load(kubeconfig, configuration)
        except Exception as error:  # noqa: BLE001 -- on a broken one, kubernetes.aio raises anything
            config = _describe_config(str(error)) if isinstance(error, ConfigException) else ""
            reason = config or describe(error)
            if isinstance(error, (AttributeError, TypeError, LookupError)):
                reason = f"it does not have the shape of a kubeconfig ({reason})"
            fix = "" if kubeconfig else "; outside a Pod, give --kubeconfig FILE"
            message = f"cannot connect by {where}: {reason}{fix}"
            raise SettingsError(message) from None  # Their texts quote it.
        finally:
            _collected.reset(collecting)
        if problem := _problem(configuration, problems):
            raise SettingsError(f"cannot connect by {where}: {problem}")
        if problems:
            _log.warning("a credential is left out", kubeconfig=str(kubeconfig), problem=problems)
        refresh = None
        if loader and "exec" in (loader._user or ()):  # noqa: SLF001 -- no other way to know
            refreshing = refresh_token(loader, configuration)  # type: ignore[no-untyped-call]  # The package types little.
            refresh = asyncio.create_task(refreshing)
        return cls(configuration, refresh)

    @property
    def bearer_token(self) -> str:
        """The token that is sent; empty where there is none, as with a client certificate."""
        sent = str(self.configuration.api_key.get("BearerToken", ""))
        return sent.removeprefix("Bearer ").strip()

    async def close(self) -> None:
        """Stop keeping them fresh."""
        if self._refresh:
            self._refresh.cancel()
            await asyncio.gather(self._refresh, return_exceptions=True)


async def _load(kubeconfig: Path | None, configuration: Configuration) -> KubeConfigLoader | None:
    if kubeconfig is None:
        load_incluster_config(configuration)  # type: ignore[no-untyped-call]  # The package types little.
        return None
    loader: KubeConfigLoader = await load_kube_config(  # type: ignore[no-untyped-call]  # As above.
        str(kubeconfig), client_configuration=configuration, persist_config=False
    )
    return loader


def _problem(configuration: Configuration, problems: list[str]) -> str:
    """Say why what was read cannot be used; empty when it can."""
    if problems and not configuration.api_key and not configuration.cert_file:
        return problems[0]
    try:
        url = urlsplit(configuration.host)
        usable = url.scheme in {"http", "https"} and bool(url.hostname) and url.port != 0
    except ValueError:
        usable = False
    else:
        if "@" in url.netloc:
            return f"{_FIELD} holds a user name or password: put them under users[].user"
    return "" if usable else f"{_FIELD} must be a URL such as https://192.0.2.1:6443"


def _check_exists(kubeconfig: Path | None) -> None:
    if kubeconfig and not kubeconfig.is_file():
        raise SettingsError(f"kubeconfig {kubeconfig} does not exist")
