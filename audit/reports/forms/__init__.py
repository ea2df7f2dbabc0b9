"""Forms of a report for programs. Each is made of the report's value alone."""
