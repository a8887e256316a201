"""Evaluation in separate processes: the fork server, its workers, their sandbox and their protocol."""
