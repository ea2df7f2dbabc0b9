package sallyport.rules.acme.ports_test

import data.sallyport.rules.acme.ports

test_refused if {
	ports.deny == {{"path": "spec.type", "value": "NodePort"}} with input as {"fields": {"spec": {"type": "NodePort"}}}
}

test_admitted if {
	ports.deny == set() with input as {"fields": {"spec": {"type": "ClusterIP"}}}
}
