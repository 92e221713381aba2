"""The engine: the things that travel, the round as pure functions, and runs as programs. It knows no method by name."""
