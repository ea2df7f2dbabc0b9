"""From which Pod an access came and under which grant, by what the ledger knows."""
