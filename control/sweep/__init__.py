"""The sweep: everything that runs is judged by the same `admission/` as what arrives."""
