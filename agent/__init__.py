"""Stocktake: counts what a hypervisor really holds and keeps the cloud's books true."""
