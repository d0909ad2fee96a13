"""What the layers of all frameworks share: which cells they read and write, and the engines that project them.

Private: modules may change. Public are `rumflow.torch` and `rumflow.jax`.
"""
