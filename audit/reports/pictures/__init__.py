"""Pictures of a report as inline SVG: no script, no style of their own, everything escaped."""
