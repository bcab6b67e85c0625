//! The checker in Python, written from the document alone.
