"""Captured whole models under every compiler: one process for each model and side, measured in turns on each device."""
