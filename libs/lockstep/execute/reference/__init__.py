"""The reference executor: in process, event at a time; the meaning of the language."""
