"""A page for people who do not program: the command `rumflow app`.

Data in, questions asked, answers taken away, in a browser on the same machine. The page computes nothing itself: every answer is
that of a function of the package, which is shown with it. Private: modules may change.
"""
