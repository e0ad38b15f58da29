"""Windows (semantics 7), one file each; `registry.build_window` finds them by (namespace, name)."""
