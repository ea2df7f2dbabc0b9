"""Makes rules of a site from policies that were written for another gate."""
