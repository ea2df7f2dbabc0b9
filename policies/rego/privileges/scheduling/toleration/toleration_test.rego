package sallyport.privileges.scheduling.toleration_test

import data.sallyport.privileges.scheduling.toleration

test_refused_everything if {
	toleration.needs == {{
		"privilege": "scheduling/tolerate/everything",
		"path": "spec.tolerations[0]",
	}} with input as {"tolerations": [{"path": "spec.tolerations[0]", "operator": "Exists"}]}
}

test_refused_no_key_no_operator if {
	toleration.needs == {{
		"privilege": "scheduling/tolerate/everything",
		"path": "spec.tolerations[0]",
	}} with input as {"tolerations": [{"path": "spec.tolerations[0]"}]}
}

test_refused_empty_key if {
	toleration.needs == {{
		"privilege": "scheduling/tolerate/everything",
		"path": "spec.tolerations[0]",
	}} with input as {
		"tolerations": [{"path": "spec.tolerations[0]", "key": "", "operator": "Equal"}],
	}
}

test_refused_control_planes if {
	toleration.needs == {
		{
			"privilege": "scheduling/tolerate/node-role.kubernetes.io%2Fcontrol-plane",
			"path": "spec.tolerations[0]",
		},
		{
			"privilege": "scheduling/tolerate/node-role.kubernetes.io%2Fmaster",
			"path": "spec.tolerations[1]",
		},
	} with input as {
		"tolerations": [
			{"path": "spec.tolerations[0]", "key": "node-role.kubernetes.io/control-plane"},
			{
				"path": "spec.tolerations[1]",
				"key": "node-role.kubernetes.io/master",
				"operator": "Exists",
			},
		],
	}
}

test_refused_of_rke if {
	toleration.needs == {
		{
			"privilege": "scheduling/tolerate/node-role.kubernetes.io%2Fcontrolplane",
			"path": "spec.tolerations[0]",
		},
		{
			"privilege": "scheduling/tolerate/node-role.kubernetes.io%2Fetcd",
			"path": "spec.tolerations[1]",
		},
	} with input as {
		"tolerations": [
			{"path": "spec.tolerations[0]", "key": "node-role.kubernetes.io/controlplane"},
			{"path": "spec.tolerations[1]", "key": "node-role.kubernetes.io/etcd"},
		],
	}
}

test_refused_system_pool if {
	toleration.needs == {{
		"privilege": "scheduling/tolerate/CriticalAddonsOnly",
		"path": "spec.tolerations[1]",
	}} with input as {
		"tolerations": [
			{"path": "spec.tolerations[0]", "key": "sku"},
			{"path": "spec.tolerations[1]", "key": "CriticalAddonsOnly", "operator": "Exists"},
		],
	}
}

test_admitted_none if {
	toleration.needs == set() with input as {
		"containers": [{"path": "spec.containers[0]", "name": "trainer"}],
	}
}

test_admitted_pool_of_gpus if {
	toleration.needs == set() with input as {
		"tolerations": [{
			"path": "spec.tolerations[0]",
			"key": "nvidia.com/gpu",
			"operator": "Exists",
		}],
	}
}

test_admitted_key_named_everything if {
	toleration.needs == set() with input as {
		"tolerations": [{"path": "spec.tolerations[0]", "key": "everything"}],
	}
}
