"""What is installed, as the lock says: a bill of materials, and a look for known weaknesses.

    python .ci/supply_chain.py bom requirements.lock bom.json
    python .ci/supply_chain.py audit requirements.lock

The bill is CycloneDX 1.5; the same lock gives the same bytes. The audit asks OSV, one request for all packages, and
ends with 0 if nothing is known, 1 if something is, 2 if OSV can't be reached: then nothing was checked.
"""

from __future__ import annotations

import hashlib
import json
import re
import sys
import urllib.request
import uuid
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ADVISORIES = "https://api.osv.dev/v1/querybatch"


@dataclass(frozen=True)
class Package:
    """One entry of a lock."""

    name: str
    version: str
    sha256: tuple[str, ...]


def packages(lock: str) -> list[Package]:
    """The entries of a lock that `uv pip compile --generate-hashes` wrote."""
    found = []
    for entry in re.split(r"\n(?=[^\s#])", lock.strip()):
        named = re.match(r"([A-Za-z0-9._-]+)(?:\[[^]]*\])?==([^\s;\\]+)", entry)
        if named:
            found.append(Package(named[1], named[2], tuple(re.findall(r"--hash=sha256:([0-9a-f]{64})", entry))))
    return found


def bill_of_materials(lock: str) -> dict[str, Any]:
    """The packages of a lock as a CycloneDX document."""
    digest = hashlib.sha256(lock.encode()).hexdigest()
    components = [
        {
            "type": "library",
            "bom-ref": f"pkg:pypi/{package.name}@{package.version}",
            "name": package.name,
            "version": package.version,
            "purl": f"pkg:pypi/{package.name}@{package.version}",
            "hashes": [{"alg": "SHA-256", "content": sha256} for sha256 in package.sha256],
        }
        for package in packages(lock)
    ]
    return {
        "bomFormat": "CycloneDX",
        "specVersion": "1.5",
        "serialNumber": f"urn:uuid:{uuid.uuid5(uuid.NAMESPACE_URL, digest)}",
        "version": 1,
        "metadata": {"component": {"type": "application", "name": "mediarank"}},
        "components": components,
    }


def audit(lock: str, address: str = ADVISORIES) -> int:
    """Print what is known of the packages; the exit code."""
    found = packages(lock)
    queries = [{"package": {"name": p.name, "ecosystem": "PyPI"}, "version": p.version} for p in found]
    request = urllib.request.Request(  # noqa: S310 - the address is a constant
        address, json.dumps({"queries": queries}).encode(), {"Content-Type": "application/json"}
    )
    try:
        with urllib.request.urlopen(request, timeout=30) as answer:  # noqa: S310
            results = json.load(answer)["results"]
    except (OSError, ValueError, KeyError) as error:
        print(f"{address} can't be reached ({error}): nothing was checked. Run this where it can be.")
        return 2
    known = [(p, [v["id"] for v in result.get("vulns", ())]) for p, result in zip(found, results, strict=True)]
    for package, ids in known:
        if ids:
            print(f"{package.name} {package.version}: {', '.join(ids)}")
    weak = sum(bool(ids) for _, ids in known)
    print(f"{weak} of {len(found)} packages have known weaknesses.")
    return int(weak > 0)


def main(command: str, lock: str, target: str = "") -> int:
    text = Path(lock).read_text()
    if command == "audit":
        return audit(text)
    Path(target).write_text(json.dumps(bill_of_materials(text), indent=2) + "\n")
    print(f"{target}: {len(packages(text))} packages of {lock}")
    return 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
