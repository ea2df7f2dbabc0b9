package sallyport.lib_test

import data.sallyport.lib

test_plain_text_stands_for_itself if {
	every text in ["NET_ADMIN", "a", "...", "-", "a.b:c_d-9", "::1"] {
		lib.segment(text) == text
	}
}

test_the_rest_is_encoded if {
	cases := {
		"": "%00",
		".": "%2E",
		"..": "%2E%2E",
		"/": "%2F",
		"a/b": "a%2Fb",
		"*": "%2A",
		"**": "%2A%2A",
		"%2F": "%252F",
		" ": "%20",
		"+": "%2B",
		"~": "%7E",
		"a:b c": "a:b%20c",
		"é": "%C3%A9",
		"😀": "%F0%9F%98%80",
		"\n": "%0A",
		"C:\\x": "C:%5Cx",
	}
	every text, encoded in cases {
		lib.segment(text) == encoded
	}
}

test_indexed if lib.indexed("spec.volumes", 12) == "spec.volumes[12]"

test_source_is_the_type_or_what_the_author_wrote if {
	cases := {
		"spec": "spec.nfs",
		"spec.volumes[0]": "spec.volumes[0].nfs",
		"spec.volumes[0].persistentVolumeClaim": "spec.volumes[0].persistentVolumeClaim",
		"spec.volumes[0].ephemeral.volumeClaimTemplate": "spec.volumes[0].ephemeral.volumeClaimTemplate",
		"spec.local": "spec.local",
		"spec.volumeName": "spec.volumeName",
	}
	every path, expected in cases {
		lib.source({"path": path}, "nfs") == expected
	}
}

test_signals_name_a_container_where_there_is_one if {
	with_one := {"path": "p", "word": "w", "container": "c"}
	lib.hinted(with_one) == {"path": "p", "value": "w", "container": "c"}
	lib.hinted({"path": "p", "word": "w"}) == {"path": "p", "value": "w"}
	lib.needed(with_one, "v") == {"path": "p", "value": "v", "container": "c"}
	lib.needed({"path": "p"}, "v") == {"path": "p", "value": "v"}
}
