"""Notebook 13: a second right answer to each exercise."""

RIGHT = {"table_over_matrix": lambda N, P, Q, C, R, S: N * C}
