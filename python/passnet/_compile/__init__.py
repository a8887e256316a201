"""Compilation of whole models: capture by Dynamo, a light callable with native guards, verified regions, CUDA graphs."""
