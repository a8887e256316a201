"""Pass directories and their application to graphs: loading, tracing, canonical form, wire format, rewriting."""
