package sallyport.privileges.identity.federated_test

import data.sallyport.privileges.identity.federated

test_refused_azure if {
	federated.needs == {{"privilege": "identity/azure/0a", "path": "metadata.annotations[azure.workload.identity/client-id]"}} with input as {"containers": [], "object": {"kind": "ServiceAccount", "identities": [{"path": "metadata.annotations[azure.workload.identity/client-id]", "cloud": "azure", "value": "0a"}]}}
}

test_refused_tenant if {
	federated.needs == {{"privilege": "identity/azure-setting/tenant-id/0b", "path": "metadata.annotations[azure.workload.identity/tenant-id]"}} with input as {"containers": [], "object": {"kind": "ServiceAccount", "identities": [{"path": "metadata.annotations[azure.workload.identity/tenant-id]", "cloud": "azure", "value": "0b", "setting": "tenant-id"}]}}
}

test_refused_aws if {
	federated.needs == {{"privilege": "identity/aws/arn:aws:iam::1:role%2Fa", "path": "p"}} with input as {"containers": [], "object": {"kind": "ServiceAccount", "identities": [{"path": "p", "cloud": "aws", "value": "arn:aws:iam::1:role/a"}]}}
}

test_refused_emptied if {
	federated.needs == {{"privilege": "identity/gcp/%00", "path": "p"}} with input as {"containers": [], "object": {"kind": "ServiceAccount", "identities": [{"path": "p", "cloud": "gcp", "value": ""}]}}
}

test_admitted_plain if {
	federated.needs == set() with input as {"containers": [], "object": {"kind": "ServiceAccount", "name": "a"}}
}

test_admitted_pod if {
	federated.needs == set() with input as {"containers": [{"path": "spec.containers[0]", "name": "trainer"}]}
}
