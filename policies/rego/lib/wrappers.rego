package sallyport.lib

# A built-in function that fails on its arguments ends the evaluation: the object is refused with an
# error, and nobody is told what to change. What is below tests the shape first. Values (amount, number …) are undefined where the
# shape is wrong, predicates that a rule denies by (over, outside …) then hold.

amount_shape := `^[+-]?([0-9]{1,30}(\.[0-9]{0,20})?|\.[0-9]{1,20})([eE][+-]?[0-9]{1,2}|m|[kKMGTPE]|[KMGTPE]i)?$`

number_shape := `^-?(0|[1-9][0-9]{0,29})(\.[0-9]{1,30})?([eE][+-]?[0-9]{1,2})?$`

time_shape := concat("", [
	`^(19[0-9]{2}|2[01][0-9]{2})-(0[1-9]|1[0-2])-(0[1-9]|[12][0-9]|3[01])`,
	`T([01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9](\.[0-9]{1,9})?(Z|[+-]([01][0-9]|2[0-3]):[0-5][0-9])$`,
])

days_of_month := {"02": 29, "04": 30, "06": 30, "09": 30, "11": 30}

# METADATA
# title: A Kubernetes quantity as a number
# description: Of "500m", "2Gi" or a number; undefined for what is neither.
# scope: document
amount(value) := value if is_number(value)

amount(value) := units.parse(value) if {
	is_string(value)
	regex.match(amount_shape, value)
}

# METADATA
# title: Whether an amount is over a limit
# description: It holds too where one of them is no amount.
# scope: document
over(value, most) if not amount_at_most(value, most)

amount_at_most(value, most) if amount(value) <= amount(most)

# METADATA
# title: Whether an amount is below a limit
# description: It holds too where one of them is no amount.
# scope: document
under(value, least) if not amount_at_most(least, value)

# METADATA
# title: A text as a number
# description: Undefined for what is none; to_number fails on that.
# scope: document
number(value) := value if is_number(value)

number(value) := to_number(value) if {
	is_string(value)
	regex.match(number_shape, value)
}

# METADATA
# title: Whether a version is older than another
# description: It holds too where one of them is no version of semver.org.
# scope: document
older(version, least) if not at_least(version, least)

at_least(version, least) if {
	semver.is_valid(version)
	semver.is_valid(least)
	semver.compare(version, least) >= 0
}

# METADATA
# title: Whether a text does not match a pattern
# description: It holds too where the pattern is no regular expression, or the text no text.
# scope: document
unlike(text, pattern) if not matches(text, pattern)

matches(text, pattern) if {
	is_string(text)
	regex.is_valid(pattern)
	regex.match(pattern, text)
}

# METADATA
# title: Whether a text matches a pattern that it must not
# description: It holds too where the pattern is no regular expression, or the text no text.
# scope: document
like(text, pattern) if not matches_not(text, pattern)

matches_not(text, pattern) if {
	is_string(text)
	regex.is_valid(pattern)
	not regex.match(pattern, text)
}

# METADATA
# title: Whether a text does not fit a pattern in which * stands for any characters but points
# description: >-
#   It holds too where the pattern is none, or has what else glob.match knows (classes,
#   alternatives, escapes), or the text is no text.
# scope: document
unlike_glob(text, pattern) if not fits(text, pattern)

fits(text, pattern) if {
	is_string(text)
	plain_glob(pattern)
	glob.match(pattern, [], text)
}

# METADATA
# title: Whether a text fits a pattern with * that it must not
# description: It holds too where unlike_glob knows no pattern, or the text is no text.
# scope: document
like_glob(text, pattern) if not fits_not(text, pattern)

fits_not(text, pattern) if {
	is_string(text)
	plain_glob(pattern)
	not glob.match(pattern, [], text)
}

plain_glob(pattern) if {
	is_string(pattern)
	count(pattern) <= 1000
	not contains(pattern, "[")
	not contains(pattern, "]")
	not contains(pattern, "{")
	not contains(pattern, "}")
	not contains(pattern, "\\")
}

# METADATA
# title: Whether a value is an address or a network of IPv4 or IPv6
# scope: document
is_address(value) if {
	is_string(value)
	net.cidr_is_valid(concat("", [value, "/32"]))
}

is_address(value) if net.cidr_is_valid(value)

# METADATA
# title: Whether an address or a network is in none of some networks
# description: It holds too where it is no address, or one of them is no network.
# scope: document
outside(value, networks) if not contained(value, networks)

contained(value, networks) if {
	is_address(value)
	every network in networks {
		net.cidr_is_valid(network)
	}
	some network in networks
	net.cidr_contains(network, value)
}

# METADATA
# title: A time of RFC 3339 in nanoseconds
# description: Undefined for what is none.
# scope: document
time_ns(value) := time.parse_rfc3339_ns(value) if {
	is_string(value)
	regex.match(time_shape, value)
	to_number(trim_left(substring(value, 8, 2), "0")) <= object.get(days_of_month, substring(value, 5, 2), 31)
	not no_leap_day(value)
}

no_leap_day(value) if {
	substring(value, 5, 5) == "02-29"
	year := to_number(substring(value, 0, 4))
	not leap(year)
}

leap(year) if {
	year % 4 == 0
	year % 100 != 0
}

leap(year) if year % 400 == 0

# METADATA
# title: JSON in a text
# description: Undefined for what is none.
# scope: document
parsed(text) := json.unmarshal(text) if json.is_valid(text)

# METADATA
# title: Base64 in a text
# description: Undefined for what is none.
# scope: document
decoded(text) := base64.decode(text) if base64.is_valid(text)
