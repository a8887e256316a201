"""Fake services."""
