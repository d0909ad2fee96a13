"""The nearest random utility model: inputs, results, one problem and many."""
