package sallyport.rules.topology.spread_test

import data.sallyport.rules.topology.spread

zone := "topology.kubernetes.io/zone"

soft := {"topologySpreadConstraints": [{"topologyKey": zone, "whenUnsatisfiable": "ScheduleAnyway"}]}

hard := {"topologySpreadConstraints": [{"topologyKey": zone, "whenUnsatisfiable": "DoNotSchedule"}]}

preferred := [{"weight": 1, "podAffinityTerm": {"topologyKey": zone}}]

anti_soft := {"affinity": {"podAntiAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": preferred}}}

anti_hard := {"affinity": {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [{"topologyKey": zone}]}}}

test_refused_together if {
	every spec in [{}, {"topologySpreadConstraints": []}, {"topologySpreadConstraints": [{"topologyKey": "rack"}]}, {"affinity": {}}] {
		found(3, spec, false) == {{
			"path": "spec.template.spec.topologySpreadConstraints",
			"value": "3",
		}}
	}
}

test_refused_soft_where_hard_is_asked if {
	every spec in [soft, anti_soft] {
		count(found(2, spec, true)) == 1
	}
}

test_refused_of_another_type if {
	every replicas in ["1", -1, [1], {"a": 1}, true] {
		count(found(replicas, {}, false)) == 1
	}
	every junk in ["junk", [zone], {"a": zone}, 5] {
		count(found(2, {"topologySpreadConstraints": junk, "affinity": {"podAntiAffinity": junk}}, false)) == 1
	}
}

test_admitted_apart if {
	every spec in [soft, hard, anti_soft, anti_hard] {
		found(3, spec, false) == set()
	}
	every spec in [hard, anti_hard] {
		found(3, spec, true) == set()
	}
}

test_admitted_few if {
	found(1, {}, true) == set()
	found(0, {}, true) == set()
	spread.deny == set() with input.fields as {} with data.sallyport.parameters.topology.spread as {"from": 2}
}

found(replicas, spec, hard) := denials if {
	denials := spread.deny with input.fields.spec as {"replicas": replicas, "template": {"spec": spec}}
		with data.sallyport.parameters.topology.spread as {"keys": [zone], "from": 2, "hard": hard}
}
