"""Which connections a Pod can make, tried from its own network; most are programs of their own."""
