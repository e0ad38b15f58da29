"""The sub-commands, by what they work on."""
