"""What a convolution costs: formulas in its letters, and the phases from which times are predicted."""
