"""Compilation of whole models: capture by Dynamo, calls with native guards, verified regions, CUDA graphs."""
