"""A state of an app in execution: its engine, what it holds back, what its revisions hold."""
