"""`python -m rumflow`."""

import sys

from rumflow.cli.main import main

if __name__ == "__main__":
    sys.exit(main())
