"""Eight processes write to one journal while a ninth kills them at random; then everything acknowledged is counted.

Each writer has a list of statements with fixed ids. After a statement is on disk it writes the id to its own file of
acknowledgements. A killed writer is started again and goes on after its last acknowledgement, so that what was written
but not acknowledged is written twice, under the same id.
"""

from __future__ import annotations

import random
import subprocess
import sys
import time
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

from mediarank.teaching.journal import Journal

WRITER = """
import os, sys
from pathlib import Path
from mediarank.teaching.journal import Journal
from mediarank.teaching.statements import Statement, time_after

folder, acknowledged = Path(sys.argv[1]), Path(sys.argv[2])
writer, count, careless = int(sys.argv[3]), int(sys.argv[4]), sys.argv[5]
done = acknowledged.read_text().count("\\n") if acknowledged.exists() else 0
journal = Journal(folder)
author = "shared" if writer % 2 else f"writer {writer}"
for number in range(done, count):
    about = ("concept", f"{number}.jpg", "", "boat", True, "cli")
    statement = Statement(f"{writer:04x}-{number:06d}.0", time_after(), author, *about)
    if careless == "no" or number % 10:
        journal.append([statement])
    file = os.open(acknowledged, os.O_WRONLY | os.O_APPEND | os.O_CREAT)
    os.write(file, f"{statement.id}\\n".encode())
    os.close(file)
"""


@dataclass(frozen=True)
class Result:
    """held : statements in the journal; lost : acknowledged but not there; doubled : counted more than once"""

    held: int
    lost: int
    doubled: int
    killed: int
    damaged: int


def drill(folder: Path, writers: int, statements: int, kills: int, seed: int, careless: bool = False) -> Result:
    journal = Journal(folder / "journal")
    journal.folder.mkdir(parents=True)
    files = [folder / f"acknowledged-{k}" for k in range(writers)]

    def start(k: int) -> subprocess.Popen[bytes]:
        words = [str(journal.folder), str(files[k]), str(k), str(statements), "yes" if careless else "no"]
        return subprocess.Popen([sys.executable, "-c", WRITER, *words])

    rng = random.Random(seed)  # noqa: S311 - which process to kill, not a secret
    running = {k: start(k) for k in range(writers)}
    killed = 0
    while running:
        time.sleep(rng.uniform(0.005, 0.1))
        for k, process in list(running.items()):
            if process.poll() is not None:
                running.pop(k)
                if process.returncode:
                    running[k] = start(k)
        begun = [k for k in running if files[k].exists()]
        if killed < kills and begun:
            running[rng.choice(begun)].kill()
            killed += 1
    read = journal.read()
    held = Counter(statement.id for statement in read.statements)
    acknowledged = [line for file in files for line in file.read_text().split()]
    lost = sum(identity not in held for identity in acknowledged)
    return Result(len(held), lost, sum(n > 1 for n in held.values()), killed, len(read.damaged))
