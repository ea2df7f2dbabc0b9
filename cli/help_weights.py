"""The second half of the --help of `sallyport weights`: examples and exit codes."""

WEIGHTS = """**Examples**

    sallyport weights access

    sallyport weights ingest --cluster-id prod logs/

**Exit codes**: 0 all is well; 1 something differs, or some records were
refused; 2 it could not be done; 64 wrong usage. Each command's --help says
more."""

ACCESS = """**Examples**

    sallyport weights access

    sallyport weights access llama --kubeconfig admin.yaml

    sallyport weights access -o json | jq '.stores[].differing'

`control` reads Azure's role assignments, every five minutes, where
weights.azure.enabled says so and the WeightStore names its resourceId. This
shows what it last read: who can do what, and where that is not what the
WeightStore and the AccessGrants that live say. What could not be read is
named, and is never taken for nobody.

It needs the right to get the ConfigMap sallyport-store-access in Sallyport's
own namespace, and asks Azure for nothing.

**Exit codes**: 0 all is as written; 1 something differs; 2 not all was read,
or nothing yet; 64 wrong usage."""

INGEST = """**Examples**

    sallyport weights ingest --cluster-id prod insights-logs/

    sallyport weights ingest --cluster-id prod PT1H.json activity.json.gz

    az storage blob download … | sallyport weights ingest --cluster-id prod -

    sallyport weights ingest --ledger sqlite:///ledger.db -o json logs/

A folder is a container of exported logs or a copy of one; files hold JSON
lines or one list, also under gzip. Each record tells which log it is of:
storage's, Azure's activity log, or kube-apiserver's audit log. What is in the
ledger already is known and not stored again, so the same may be given twice.
Give what is of the same days in one command: what comes after it is late.

An auditor that takes in the same cluster's logs waits meanwhile.

**Exit codes**: 0 every record is in the ledger; 1 some are in quarantine, with
their reasons; 2 the ledger or a file cannot be read; 64 wrong usage."""
