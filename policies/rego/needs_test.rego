package sallyport.needs_test

import data.sallyport.needs

digest := "sha256:0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"

test_a_restricted_pod_needs_its_images_registry_alone if {
	needs.answer == {
		"containers": 1,
		"needs": {"image/registry": {{
			"privilege": "image/from/registry.example/trainer",
			"path": "spec.containers[0].image",
			"container": "trainer",
		}}},
		"denials": {},
		"signals": {},
		"features": set(),
	} with input as {
		"hostUsers": false,
		"automount": false,
		"securityContext": {"runAsNonRoot": true, "seccompProfile": {"type": "RuntimeDefault"}},
		"containers": [{
			"path": "spec.containers[0]",
			"name": "trainer",
			"kind": "container",
			"image": concat("@", ["registry.example/trainer:1", digest]),
			"imageFrom": "registry.example/trainer",
			"pinned": true,
			"securityContext": {
				"allowPrivilegeEscalation": false,
				"readOnlyRootFilesystem": true,
				"capabilities": {"drop": ["ALL"]},
			},
		}],
	}
}

test_an_empty_projection_needs_nothing if needs.result == {} with input as {}

test_an_object_without_containers_has_an_answer if {
	needs.answer == {
		"containers": 0,
		"needs": {"runtime_class/handler": {{
			"privilege": "runtime-class/gvisor/runsc",
			"path": "handler",
		}}},
		"denials": {},
		"signals": {},
		"features": set(),
	} with input as {
		"containers": [],
		"object": {"kind": "RuntimeClass", "name": "gvisor", "handler": "runsc"},
	}
}

test_an_input_that_cannot_be_read_has_no_answer if not needs.answer with input as {"hostPID": true}

test_denials_stand_beside_the_needs if {
	needs.answer.denials == {"runtime/annotations": {{
		"path": "metadata.annotations['dev.gvisor.flag.debug']",
		"value": "dev.gvisor.flag.debug",
	}}} with input as {"containers": [], "annotations": {"dev.gvisor.flag.debug": ""}}
}

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
		"container/root_filesystem": {{
			"privilege": "container/writable-root",
			"path": "spec.containers[0].securityContext.readOnlyRootFilesystem",
			"container": "trainer",
		}},
		"image/digest": {{
			"privilege": "image/unpinned",
			"path": "spec.containers[0].image",
			"container": "trainer",
		}},
		"image/registry": {{
			"privilege": "image/from/%00",
			"path": "spec.containers[0].image",
			"container": "trainer",
		}},
		"limits/unset": {
			{
				"privilege": "limits/unset/cpu",
				"path": "spec.containers[0].resources.limits.cpu",
				"container": "trainer",
			},
			{
				"privilege": "limits/unset/memory",
				"path": "spec.containers[0].resources.limits.memory",
				"container": "trainer",
			},
		},
		"run_as/host_users": {{"privilege": "run-as/host-users", "path": "spec.hostUsers"}},
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
		"token/automount": {{
			"privilege": "token/automount",
			"path": "spec.automountServiceAccountToken",
		}},
	} with input as {"containers": [{
		"path": "spec.containers[0]",
		"name": "trainer",
		"unlimited": ["cpu", "memory"],
	}]}
}

test_signals_and_features_stand_beside_them if {
	found := needs.answer with input as {
		"containers": [],
		"weighed": true,
		"automount": false,
		"hostNetwork": true,
		"hints": [{"path": "metadata.labels[app]", "kind": "notebook", "word": "jupyter"}],
	}
	found.signals == {"code/notebook": {{"path": "metadata.labels[app]", "value": "jupyter"}}}
	found.features == {{"name": "host-network", "path": "spec.hostNetwork"}}
}

test_what_is_not_weighed_has_neither if {
	found := needs.answer with input as {
		"containers": [],
		"hostNetwork": true,
		"hints": [{"path": "metadata.labels[app]", "kind": "notebook", "word": "jupyter"}],
	}
	found.signals == {}
	found.features == set()
}
