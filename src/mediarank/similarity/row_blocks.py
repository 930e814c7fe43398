"""Work on rows in blocks of a fixed length, on all cores: what a block computes does not depend on their number.

Unlike `fanout.on_threads` it does not limit the threads of BLAS, which takes milliseconds: it is for kernels without
BLAS.
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

from mediarank.fanout import jobs


def for_blocks(function: Callable[[slice], None], count: int, block: int) -> None:
    """Call `function` on slices that cover `range(count)`; it must release the interpreter lock to run in parallel."""
    blocks = [slice(start, min(start + block, count)) for start in range(0, count, block)]
    workers = min(jobs(), len(blocks))
    if workers <= 1:
        for rows in blocks:
            function(rows)
        return
    with ThreadPoolExecutor(workers) as pool:
        for _ in pool.map(function, blocks):
            pass  # reading the results raises what a thread raised
