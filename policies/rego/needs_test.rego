package sallyport.needs_test

import data.sallyport.needs

test_a_restricted_pod_needs_nothing if {
	needs.result == {} with input as {
		"securityContext": {"runAsNonRoot": true, "seccompProfile": {"type": "RuntimeDefault"}},
		"containers": [{
			"path": "spec.containers[0]",
			"name": "trainer",
			"kind": "container",
			"image": "registry.example/trainer:1",
			"securityContext": {"allowPrivilegeEscalation": false, "capabilities": {"drop": ["ALL"]}},
		}],
	}
}

test_an_empty_projection_needs_nothing if needs.result == {} with input as {}

test_a_bare_container_needs_what_restricted_demands_to_be_set if {
	needs.result == {
		"capability/defaults": {{
			"privilege": "capabilities/default",
			"path": "spec.containers[0].securityContext.capabilities.drop",
			"container": "trainer",
		}},
		"container/privilege_escalation": {{
			"privilege": "container/privilege-escalation",
			"path": "spec.containers[0].securityContext.allowPrivilegeEscalation",
			"container": "trainer",
		}},
		"run_as/unset": {{
			"privilege": "run-as/any",
			"path": "spec.containers[0].securityContext.runAsNonRoot",
			"container": "trainer",
		}},
		"seccomp/unset": {{
			"privilege": "seccomp/unset",
			"path": "spec.containers[0].securityContext.seccompProfile.type",
			"container": "trainer",
		}},
	} with input as {"containers": [{"path": "spec.containers[0]", "name": "trainer"}]}
}
