"""Monitoring of replacement functions: operators, memory, kernel launches."""
