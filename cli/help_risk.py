"""The second half of the --help of `sallyport risk`: examples of under 77 columns, exit codes."""

RISK = """**Examples**

    sallyport risk status --kubeconfig ~/.kube/config

    sallyport risk table --file risk-table.yaml

    sallyport risk show --help

**Exit codes**: 0 all is well; 1 stale, or a broken table; 2 it cannot be told;
64 wrong usage. Each command's --help says more."""

STATUS = """**Examples**

    sallyport risk status --kubeconfig ~/.kube/config

    sallyport risk status --kubeconfig ~/.kube/config -o json

Stale is what is older than the setting identity.max_age, here as on the
gates. Needs the right to read the Secrets sallyport-risk… (the chart's Role
sallyport-read-risk).

**Exit codes**: 0 what decides is fresh; 1 it is stale; 2 there is no
snapshot, or the cluster does not answer; 64 wrong usage."""

SHOW = """**Examples**

    sallyport risk show oid:5d1f7a2e-63d4-4a86-9b1c-0f2a7c8e4b11

    sallyport risk show client:5d1f7a2e-63d4-4a86-9b1c-0f2a7c8e4b11 -o json

    sallyport risk show train/trainer --kubeconfig ~/.kube/config

Without --kubeconfig it is the cluster of SALLYPORT_KUBECONFIG.
No names are kept: the object id is on the person's page of Entra's portal,
and in decisions. Effects are those of the table in force, for namespaces
without a class unless --namespace-class names one.

**Exit codes**: 0 shown, whatever the risk; 2 there is no snapshot, or the
cluster does not answer; 64 wrong usage, or no such identity."""

TABLE = """**Examples**

    sallyport risk table

    sallyport risk table --file risk-table.yaml --namespace-class secret

    sallyport risk table --kubeconfig ~/.kube/config --role workload

    sallyport risk table --file risk-table.yaml -o json

Without --file it is the one in force in the cluster that is named; without a
cluster the shipped rows alone. A file is what the ConfigMap holds as
table.yaml.

**Exit codes**: 0 it is sound; 1 it is broken, with the field and the fix; 2
the cluster does not answer; 64 wrong usage, or no such file."""

LOOK_BACK = """**Examples**

    sallyport risk look-back oid:5d1f7a2e-63d4-4a86-9b1c-0f2a7c8e4b11

    sallyport risk look-back client:0e3a9a39-8f2d-4d8c-a3f1-0a6d3f3c7b52

    sallyport risk look-back oid:… --since 3d -o json

    sallyport risk look-back oid:… --recorded

Without --kubeconfig it is the cluster of SALLYPORT_KUBECONFIG.
The window begins 49 hours before the risk was known, or before what made it
risky; without a risk, 14 days ago (identity.look_back.days). Records are read
from the auditor of shipping.url, else from --ledger or ledger.url.

**Exit codes**: 0 nothing is left; 1 something is still there; 2 the cluster
or the records cannot be read; 64 wrong usage."""
