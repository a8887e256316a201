"""The part of a fleet that runs on Ray. `crates/passnet-fleet` has the rest.

It starts stations, carries lines between them and the driver, and runs stages of the dataset on shards.
"""
