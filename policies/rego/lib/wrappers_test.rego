package sallyport.lib_test

import data.sallyport.lib

test_amounts_are_numbers if {
	cases := {"500m": 0.5, "2Gi": 2147483648, "1e3": 1000, ".5": 0.5, "10k": 10000, "1E": 1000000000000000000}
	every text, number in cases {
		lib.amount(text) == number
	}
	lib.amount(7) == 7
}

test_what_is_no_amount_is_undefined if {
	every value in ["", "x", "1 Gi", "1e4000000", "5n", "--1", null, {}, ["1"]] {
		not lib.amount(value)
	}
}

test_over if {
	lib.over("3Gi", "2Gi")
	lib.over("x", "2Gi")
	lib.over("1", "x")
	lib.over(null, 5)
	not lib.over("2Gi", "2Gi")
	not lib.over("1Mi", 2000000)
}

test_under if {
	lib.under("1Gi", "2Gi")
	lib.under("x", "2Gi")
	lib.under("1", null)
	not lib.under("2Gi", "2Gi")
}

test_numbers if {
	lib.number("-1.5e3") == -1500
	lib.number(3) == 3
	every value in ["", "x", "1x", "01", "0x1", null, true] {
		not lib.number(value)
	}
}

test_older if {
	lib.older("1.2.3", "1.10.0")
	lib.older("1.2", "1.0.0")
	lib.older("1.2.3", "latest")
	lib.older(null, "1.0.0")
	not lib.older("v1.10.0", "1.10.0")
}

test_patterns if {
	lib.unlike("abc", "^b")
	lib.unlike("abc", "(")
	lib.unlike(null, "a")
	not lib.unlike("abc", "^a")
	lib.like("abc", "^a")
	lib.like("abc", "(")
	lib.like(null, "a")
	not lib.like("abc", "^b")
}

test_globs if {
	lib.unlike_glob("ops", "team-*")
	lib.unlike_glob("a.b", "*")
	not lib.unlike_glob("team-a", "team-*")
	lib.like_glob("team-a", "team-*")
	not lib.like_glob("ops", "team-*")
	every pattern in ["team-[", "[a]*", "{team-a,b}", "team-\\", "[]", null, 5, ["team-*"]] {
		lib.unlike_glob("team-a", pattern)
		lib.like_glob("team-a", pattern)
	}
	every text in [null, 5, ["team-a"]] {
		lib.unlike_glob(text, "*")
		lib.like_glob(text, "*")
	}
}

test_addresses if {
	every value in ["10.0.0.1", "10.0.0.0/8", "::1", "2001:db8::/32"] {
		lib.is_address(value)
	}
	every value in ["", "x", "10.0.0", "10.0.0.0/33", "1.2.3.4/8/9", null, 1] {
		not lib.is_address(value)
	}
}

test_outside if {
	networks := ["10.0.0.0/8", "2001:db8::/32"]
	not lib.outside("10.1.2.3", networks)
	not lib.outside("10.1.0.0/16", networks)
	not lib.outside("2001:db8::1", networks)
	lib.outside("11.0.0.1", networks)
	lib.outside("x", networks)
	lib.outside("10.1.2.3", ["10.0.0.0/8", "x"])
	lib.outside("10.1.2.3", [])
}

test_times if {
	lib.time_ns("1970-01-01T00:00:01Z") == 1000000000
	lib.time_ns("2024-02-29T00:00:00+00:00") == 1709164800000000000
	every value in ["", "2026-13-01T00:00:00Z", "2026-02-30T00:00:00Z", "2023-02-29T00:00:00Z", "2026-04-31T00:00:00Z", "2026-01-01", null] {
		not lib.time_ns(value)
	}
}

test_texts_that_hold_something if {
	lib.parsed(`{"a": 1}`) == {"a": 1}
	lib.decoded("YQ==") == "a"
	every value in ["{", null, [1]] {
		not lib.parsed(value)
	}
	every value in ["!", null, [1]] {
		not lib.decoded(value)
	}
}
