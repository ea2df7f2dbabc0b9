package sallyport.privileges.annotation.deprecated_test

import data.sallyport.privileges.annotation.deprecated

test_refused_seccomp if {
	deprecated.needs == {{
		"privilege": "annotation/seccomp",
		"path": "metadata.annotations['seccomp.security.alpha.kubernetes.io/pod']",
	}} with input as {"annotations": {"seccomp.security.alpha.kubernetes.io/pod": "unconfined"}}
}

test_refused_seccomp_of_a_container if {
	deprecated.needs == {{
		"privilege": "annotation/seccomp",
		"path": "metadata.annotations['container.seccomp.security.alpha.kubernetes.io/trainer']",
	}} with input as {
		"annotations": {"container.seccomp.security.alpha.kubernetes.io/trainer": "unconfined"},
	}
}

test_refused_seccomp_empty if {
	deprecated.needs == {{
		"privilege": "annotation/seccomp",
		"path": "metadata.annotations['seccomp.security.alpha.kubernetes.io/pod']",
	}} with input as {"annotations": {"seccomp.security.alpha.kubernetes.io/pod": ""}}
}

test_refused_seccomp_of_no_kind if {
	deprecated.needs == {{
		"privilege": "annotation/seccomp",
		"path": "metadata.annotations['seccomp.security.alpha.kubernetes.io/pod']",
	}} with input as {"annotations": {"seccomp.security.alpha.kubernetes.io/pod": "localhost"}}
}

test_refused_sysctls if {
	deprecated.needs == {
		{
			"privilege": "annotation/sysctls",
			"path": "metadata.annotations['security.alpha.kubernetes.io/sysctls']",
		},
		{
			"privilege": "annotation/unsafe-sysctls",
			"path": "metadata.annotations['security.alpha.kubernetes.io/unsafe-sysctls']",
		},
	} with input as {
		"annotations": {
			"security.alpha.kubernetes.io/sysctls": "a=1",
			"security.alpha.kubernetes.io/unsafe-sysctls": "b=2",
		},
	}
}

test_refused_other_of_the_family if {
	deprecated.needs == {{
		"privilege": "annotation/a%2Fb",
		"path": "metadata.annotations['security.alpha.kubernetes.io/a/b']",
	}} with input as {"annotations": {"security.alpha.kubernetes.io/a/b": ""}}
}

test_refused_critical_pod if {
	deprecated.needs == {{
		"privilege": "annotation/critical-pod",
		"path": "metadata.annotations['scheduler.alpha.kubernetes.io/critical-pod']",
	}} with input as {"annotations": {"scheduler.alpha.kubernetes.io/critical-pod": ""}}
}

test_admitted_none if {
	deprecated.needs == set() with input as {
		"containers": [{"path": "spec.containers[0]", "name": "trainer"}],
	}
}

test_admitted_default_filter if {
	deprecated.needs == set() with input as {
		"annotations": {"seccomp.security.alpha.kubernetes.io/pod": "runtime/default"},
	}
}

test_admitted_docker_filter if {
	deprecated.needs == set() with input as {
		"annotations": {
			"container.seccomp.security.alpha.kubernetes.io/trainer": "docker/default",
		},
	}
}

test_admitted_local_filter if {
	deprecated.needs == set() with input as {
		"annotations": {"seccomp.security.alpha.kubernetes.io/pod": "localhost/profile.json"},
	}
}

test_admitted_app_armor if {
	deprecated.needs == set() with input as {
		"annotations": {"container.apparmor.security.beta.kubernetes.io/trainer": "unconfined"},
	}
}

test_admitted_of_runtimes if {
	deprecated.needs == set() with input as {"annotations": {"dev.gvisor.flag.debug": ""}}
}
