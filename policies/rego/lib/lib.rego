# METADATA
# scope: package
# title: Segments of privileges, and paths
# description: >-
#   What several rules share. The grammar of privileges is in core/privileges.py.
package sallyport.lib

# The characters that stand for themselves in a privilege.
plain := "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._:-"

# METADATA
# title: One segment of a privilege
# description: >-
#   Text as one segment: what is outside A-Za-z0-9._:- becomes the percent-encoded octets of its
#   UTF-8. "." and "..", which a reader would take for directories, are encoded too, and an empty
#   text is "%00": every value gives a segment, so no finding is lost, and a "/" in a value never
#   makes two. urlquery.encode accepts every string; it is asked only for what is not plain.
# scope: document
segment("") := "%00"

segment(".") := "%2E"

segment("..") := "%2E%2E"

segment(text) := text if {
	trim(text, plain) == ""
	not text in {"", ".", ".."}
}

segment(text) := replace(replace(replace(encoded, "+", "%20"), "%3A", ":"), "~", "%7E") if {
	trim(text, plain) != ""
	encoded := urlquery.encode(text)
}

# METADATA
# title: Path of a list's element
# description: The list's path and the index in brackets.
indexed(path, index) := concat("", [path, "[", format_int(index, 10), "]"])
