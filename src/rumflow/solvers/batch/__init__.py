"""Stacks of projections and their derivatives. Private: the public function is `rumflow.project_many`."""
