"""
How do the other kinds of figure look in print?
===============================================

All kinds but Campbell diagrams and maps ("How do the figures look in print?"), in the same looks.
"""

import matplotlib.pyplot as plt
import numpy as np

import assembly
import modal
from studies import helicopter

bearings = [assembly.Bearing(x, (1e6, 8e5), 300.0) for x in (0.0, 1.5)]
disc = assembly.Disc(0.5, 32.6, 0.33, 0.178)
steel, tube = assembly.steel, assembly.circle(0.05)
rotor = assembly.rotor([(1.5, tube)], steel, 6, discs=[disc], bearings=bearings)
tracks = modal.track(rotor, omega=np.linspace(0.0, 1000.0, 21), k=4)
speeds, probes, mass = np.geomspace(10.0, 500.0, 2000), [(2, "uy"), (2, "uz")], [(0.5, 1e-3, 0.2)]
unbalance = modal.unbalance_response(rotor, speeds, mass, probes)
over, band = dict(omega=np.linspace(0.0, 300.0, 7)), np.linspace(1.0, 90.0, 60)  # rad/s, Hz
swept = modal.frequency_response(rotor, band, {probes[0]: 1.0}, over=over)
blades, rpm = [[2], [3], [4], [5]], np.linspace(100.0, 400.0, 7)
broken = [helicopter.equations(n, works=(False, True, True, True)) for n in rpm]
at = dict(zip(rpm * np.pi / 30.0, broken, strict=True))
verdicts = modal.rotor_verdict(at.__getitem__, list(at), blades)
periodic = modal.floquet(broken[3], broken[3].period)
shares = periodic.participation_of({"hub": [0, 1], "blades": [2, 3, 4, 5]}).isel(mode=0)
kinds = [(modal.plot.frequencies, tracks), (modal.plot.growth_rates, tracks),
         (modal.plot.root_locus, tracks), (modal.plot.response, unbalance),
         (modal.plot.bode, unbalance), (modal.plot.nyquist, unbalance),
         (modal.plot.orbit, unbalance, 2, 100.0), (modal.plot.waterfall, swept, "rotor 2 uy"),
         (modal.plot.shape, rotor, modal.solve(rotor.freeze(omega=0.0), k=1)),
         (modal.plot.participation, shares), (modal.plot.periodic_mode, periodic.orbit(0), [0, 2]),
         (modal.plot.rotor_verdict, verdicts)]  # fmt: skip


def sheet(size, style="default", **more):
    """One figure of each kind, of a size in inches, three in a row, as an image."""
    images, looks = [], {"figure.constrained_layout.use": True, "figure.figsize": size, **more}
    for draw, *given in kinds:
        with plt.style.context(["default", style, looks]):
            draw(*given)
            plt.gcf().set_size_inches(size)
            plt.gcf().canvas.draw()
            images.append(np.asarray(plt.gcf().canvas.buffer_rgba())[..., :3] / 255.0)
            plt.close()
    return np.vstack([np.hstack(images[n : n + 3]) for n in range(0, 12, 3)])


# %%
# Columns of a journal, a slide's letters, a dark page, printed in grey, and without green cones.
columns = sheet((3.4, 2.7))
grey = np.repeat((columns @ [0.2126, 0.7152, 0.0722])[..., None], 3, -1)
cones = [[0.3673, 0.8606, -0.2279], [0.2801, 0.6725, 0.0474], [-0.0118, 0.0429, 0.9689]]
deuteranopia = np.clip(columns**2.2 @ np.transpose(cones), 0.0, 1.0) ** (1 / 2.2)
slide, dark = sheet((6.4, 4.8), **{"font.size": 16.0}), sheet((3.4, 2.7), "dark_background")
for image in (columns, slide, dark, grey, deuteranopia):
    plt.figure(figsize=(10.2, 8.1)).figimage(image, resize=True)
