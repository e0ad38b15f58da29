"""The functions of the language: implementations by (namespace, name), and script functions."""
