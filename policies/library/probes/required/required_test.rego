package sallyport.rules.probes.required_test

import data.sallyport.rules.probes.required

missing := {{
	"path": "spec.containers[0].readinessProbe",
	"value": "readinessProbe",
	"container": "main",
}}

test_refused_absent if {
	every policy in [{}, {"restartPolicy": "Always"}, {"restartPolicy": 5}] {
		found(object.union(policy, {"containers": [{"name": "main", "livenessProbe": {"exec": {}}}]})) == missing
	}
}

test_refused_without_a_handler if {
	every probe in [{}, {"periodSeconds": 5}, {"httpGet": "x"}, 5, "httpGet", ["exec"]] {
		found({"containers": [{"name": "main", "readinessProbe": probe}]}) == missing
	}
}

test_refused_each_container if {
	count(found({"containers": [{"readinessProbe": {"exec": {}}}, {}, {"name": "b"}]})) == 2
}

test_admitted_handlers if {
	every handler in ["httpGet", "tcpSocket", "grpc", "exec"] {
		found({"containers": [{"name": "main", "readinessProbe": {handler: {}}}]}) == set()
	}
}

test_admitted_what_ends if {
	every policy in ["OnFailure", "Never"] {
		found({"restartPolicy": policy, "containers": [{"name": "main"}]}) == set()
	}
}

test_admitted_other_containers if {
	found({"initContainers": [{"name": "a"}], "ephemeralContainers": [{"name": "b"}]}) == set()
}

found(spec) := denials if {
	denials := required.deny with input.fields.spec as spec
		with data.sallyport.parameters.probes.required as {"probes": ["readinessProbe"]}
}
