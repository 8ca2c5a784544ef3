"""Work drawn at random, measured against what a competent user would write himself.

models, mechanisms, motions: what is drawn. verbs: the public call of a draw. references: the same
work done plainly. running: one process a draw. report: the distributions. __main__ has the options.
"""
