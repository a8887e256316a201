"""Capture of models as samples on disk."""
