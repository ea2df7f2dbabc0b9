"""API paths of all objects of Kubernetes' own kinds, in all namespaces."""

from typing import Final

ADMISSION_PATH: Final = "/apis/admissionregistration.k8s.io/v1"
NAMESPACES_PATH: Final = "/api/v1/namespaces"
NODES_PATH: Final = "/api/v1/nodes"
PODS_PATH: Final = "/api/v1/pods"
SERVICES_PATH: Final = "/api/v1/services"
SERVICE_ACCOUNTS_PATH: Final = "/api/v1/serviceaccounts"
