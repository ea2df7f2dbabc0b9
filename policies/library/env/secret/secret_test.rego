package sallyport.rules.env.secret_test

import data.sallyport.rules.env.secret

test_refused_container_of_each_sort if {
	every list in ["containers", "initContainers", "ephemeralContainers"] {
		found({list: [{}, {"name": "main", "env": [{"name": "A"}, {"name": "DB_PASSWORD"}]}]}) == {{
			"path": concat("", ["spec.", list, "[1].env[1]"]),
			"value": "DB_PASSWORD",
			"container": "main",
		}}
	}
}

test_refused_names if {
	every name in ["PASSWORD", "password", "dbPassword", "MY_TOKEN_2", "x-api-key", "my.token", "A_SAS_B", "HF_TOKEN"] {
		count(found({"containers": [{"env": [{"name": name}]}]})) == 1
	}
}

test_refused_reference_to_nothing if {
	every reference in [{}, null, "secretKeyRef", 5] {
		count(found({"containers": [{"env": [{"name": "TOKEN", "valueFrom": reference}]}]})) == 1
	}
}

test_admitted_reference if {
	reference := {"secretKeyRef": {"name": "a", "key": "b"}}
	found({"containers": [{"env": [{"name": "TOKEN", "valueFrom": reference}]}]}) == set()
}

test_admitted_names if {
	every name in ["MAX_TOKENS", "TOKENIZERS_PARALLELISM", "PASSWORD_FILE", "Sassy", "ATLAS", "PAD_TOKEN", "PATH"] {
		found({"containers": [{"env": [{"name": name}]}]}) == set()
	}
}

test_admitted_nothing if {
	found({}) == set()
	found({"containers": [{}, {"env": []}, {"env": [{}]}]}) == set()
}

found(spec) := denials if {
	denials := secret.deny with input.fields.spec as spec
		with data.sallyport.parameters.env.secret as {
			"words": ["PASSWORD", "TOKEN", "API_KEY", "SAS"],
			"endings": ["FILE"],
			"except": ["PAD_TOKEN"],
		}
}
