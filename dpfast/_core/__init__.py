"""The compiled core: one module an engine, each a binding over the C of the folder of its name in ``csrc``."""
