package sallyport.rules.env.from_secret_test

import data.sallyport.rules.env.from_secret

test_refused_container_of_each_sort if {
	every list in ["containers", "initContainers", "ephemeralContainers"] {
		found({list: [{
			"name": "main",
			"env": [{"name": "A"}, {"name": "B", "valueFrom": {"secretKeyRef": {"name": "s", "key": "k"}}}],
			"envFrom": [{}, {"secretRef": {"name": "s"}}],
		}]}) == {
			{"path": concat("", ["spec.", list, "[0].env[1]"]), "value": "B", "container": "main"},
			{"path": concat("", ["spec.", list, "[0].envFrom[1]"]), "value": "all keys", "container": "main"},
		}
	}
}

test_refused_without_names if {
	found({"containers": [{"env": [{"valueFrom": {"secretKeyRef": {}}}]}]}) == {{
		"path": "spec.containers[0].env[0]",
		"value": "",
		"container": "",
	}}
}

test_admitted_other_references if {
	found({"containers": [{"env": [
		{"name": "A"},
		{"name": "B", "valueFrom": {"fieldRef": {"fieldPath": "metadata.name"}}},
		{"name": "C", "valueFrom": {"configMapKeyRef": {"name": "c", "key": "k"}}},
	]}]}) == set()
}

test_admitted_nothing if found({"containers": [{}]}) == set()

found(spec) := denials if {
	denials := from_secret.deny with input.fields.spec as spec
}
