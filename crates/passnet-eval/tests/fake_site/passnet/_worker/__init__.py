"""Fake worker modules."""
