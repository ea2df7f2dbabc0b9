"""Ways into what runs, and what makes credentials, through a real kube-apiserver."""
