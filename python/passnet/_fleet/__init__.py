"""The part of a fleet that runs on Ray: it starts stations and carries their lines, and runs stages of the dataset on shards. `crates/passnet-fleet` is the rest."""
