"""The rotor of benchmarks/campbell.py in ROSS; runs in an interpreter that has it, JSON in, JSON
out."""

import json
import sys
import time
from typing import Any

import numpy as np
import ross


def rotor(job: dict[str, Any]) -> Any:
    """The shaft, discs and bearings of the job."""
    steel = ross.Material("steel", rho=job["rho"], E=job["E"], Poisson=job["nu"])
    n, length, bore = job["elements"], job["length"], job["diameter"]
    shaft = [
        ross.ShaftElement(L=length / n, idl=0.0, odl=bore, material=steel, n=i) for i in range(n)
    ]
    discs = [
        ross.DiskElement.from_geometry(round(x / length * n), steel, width, bore, outer)
        for x, outer, width in job["discs"]
    ]
    (kxx, kyy), c = job["stiffness"], job["damping"]
    bearings = [ross.BearingElement(m, kxx=kxx, kyy=kyy, cxx=c, cyy=c) for m in (0, n)]
    return ross.Rotor(shaft, discs, bearings)


def main() -> None:
    """Time run_campbell and print times and frequencies."""
    job = json.load(sys.stdin)
    speeds = np.linspace(0.0, job["top"], job["speeds"])
    times = []
    for _ in range(job["repeats"]):
        model = rotor(job)  # anew: ROSS remembers what a rotor was asked before
        start = time.perf_counter()
        campbell = model.run_campbell(speeds, frequencies=job["modes"])
        times.append(time.perf_counter() - start)
    found = np.asarray(campbell.wd).tolist()
    print(json.dumps({"version": ross.__version__, "times": times, "frequencies": found}))


if __name__ == "__main__":
    main()
