package sallyport.rules.identity.proxy_sidecar_test

import data.sallyport.rules.identity.proxy_sidecar

annotation := "azure.workload.identity/inject-proxy-sidecar"

entry := {
	"path": "metadata.annotations['azure.workload.identity/inject-proxy-sidecar']",
	"value": annotation,
}

test_refused_without_value if {
	proxy_sidecar.deny == {entry} with input as {"annotations": {annotation: ""}}
}

test_refused_though_it_says_false if {
	proxy_sidecar.deny == {entry} with input as {"annotations": {annotation: "false"}}
}

test_refused_beside_others if {
	proxy_sidecar.deny == {entry} with input as {"annotations": {
		annotation: "",
		"dev.gvisor.flag.debug": "",
	}}
}

test_admitted_none if {
	proxy_sidecar.deny == set() with input as {"annotations": {}}
}

test_admitted_others if {
	proxy_sidecar.deny == set() with input as {"annotations": {
		"azure.workload.identity/proxy-sidecar-port": "8000",
		"example.com/inject-proxy-sidecar": "",
	}}
}
