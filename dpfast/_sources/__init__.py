"""Where tables come from: files of every format, folders and patterns of them, addresses; see `dpfast.etl.sources`."""
