"""The shipped profiles: what each covers, what it refuses, and the pages that say so."""
