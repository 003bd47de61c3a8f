# SPDX-License-Identifier: Apache-2.0
"""driver: faults on the local Kubernetes. See run.sh and docs/faults.md."""
import argparse
import asyncio
import pathlib
import signal
import sys

FAULTS = pathlib.Path(__file__).resolve().parent.parent
sys.path[1:1] = [str(FAULTS / "bed"), str(FAULTS)]

import cases
import clustercases
from clusterbed import ClusterBed
from main import chosen, run_cases
from results import Results


async def main():
    parser = argparse.ArgumentParser()
    for name in ("work", "tools", "results", "raw"):
        parser.add_argument(f"--{name}", default="")
    parser.add_argument("--flavour", default="mariadb", choices=["mariadb", "mysql"])
    parser.add_argument("--mode", default="semiSync", choices=["semiSync", "async"])
    parser.add_argument("--case", default="all")
    parser.add_argument("--count", type=int, default=1)
    parser.add_argument("--seconds", type=int, default=86400)
    parser.add_argument("--spec", default="{}")
    parser.add_argument("--keep", action="store_true")
    options = parser.parse_args()
    if not chosen(options.case, clustercases.CASES):
        print(f"bed: no case is called {options.case}")
        return 2
    bed, results = ClusterBed(options), Results(options)
    task = asyncio.current_task()
    for number in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(number, task.cancel)
    try:
        await bed.start()
        await run_cases(bed, options, results, clustercases.CASES)
    except asyncio.CancelledError:
        print("bed: cut off")
        results.broken = True
    except RuntimeError as error:
        print(f"bed: {error}")
        results.broken = True
    finally:
        await bed.undo()
        await bed.stop()
    return results.finish()


if __name__ == "__main__":
    if "--list" in sys.argv:
        cases.print_table(clustercases.CASES)
        sys.exit(0)
    sys.exit(asyncio.run(main()))
