"""Evaluation in separate processes: the fork server, its workers, their confinement and their protocol."""
