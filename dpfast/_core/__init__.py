"""The compiled core: each module is a binding over the C of the folder of its name in ``csrc``."""
