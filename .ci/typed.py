"""How much of the package others see typed: `pyright --verifytypes`, run in an activated environment that holds rumflow.

Ends with an error below 95 %.
"""

import re
import subprocess
import sys

LEAST = 95.0

# Ends with 1 where anything at all is untyped; the score is what counts.
done = subprocess.run(
    ["pyright", "--ignoreexternal", "--verifytypes", "rumflow"], capture_output=True, text=True, check=False
)
found = re.search(r"Type completeness score: ([\d.]+)%", done.stdout)
if found is None:
    sys.exit(done.stdout[-2000:] + done.stderr)
print(found[0])
sys.exit(0 if float(found[1]) >= LEAST else f"less than {LEAST:g} %")
