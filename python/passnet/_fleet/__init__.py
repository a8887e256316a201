"""The part of a fleet that runs on Ray: it starts stations and carries their lines. `crates/passnet-fleet` is the rest."""
