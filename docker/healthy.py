"""Exit with 0 if the address given, or Prefect's API that `PREFECT_API_URL` names, answers: for health checks."""

import os
import sys
import urllib.request

address = sys.argv[1] if len(sys.argv) > 1 else f"{os.environ['PREFECT_API_URL']}/health"
try:
    with urllib.request.urlopen(address, timeout=5) as answer:  # noqa: S310 - an address of the installation itself
        sys.exit(answer.status != 200)
except OSError as error:
    sys.exit(f"{address}: {error}")
