"""
How do the figures look in print?
=================================

The same Campbell diagram and the same map for one column of a journal (3.4 inches), a slide, a dark
page, printed in grey, and as they look to readers without green cones (deuteranopia; Machado,
Oliveira and Fernandes, IEEE Trans. Vis. Comput. Graph. 15, 2009). Nothing is told apart by colour
alone: lines by their dashes and the names at their ends, regions by their hatches.
"""

import matplotlib.pyplot as plt
import numpy as np

import assembly
import modal

shaft = assembly.beam(0.5, assembly.rectangle(0.034, 0.03), assembly.steel, 6, clamped="start")
shaft = shaft.with_damping(b=2e-6)
speeds = np.linspace(0.0, 1000.0, 41)  # rad/s
tracks = modal.track(shaft, omega=speeds, axis=(1, 0, 0), k=4)
points = dict(omega=speeds[::2], epsilon=np.linspace(-1000.0, 1000.0, 21))
grid = modal.stability_map(shaft, axis=(1, 0, 0), k=4, **points)
onsets = modal.events(tracks)


def draw(width, height, style="default"):
    """The diagram above the map, as an image."""
    with plt.style.context(["default", style, {"figure.constrained_layout.use": True}]):
        fig, (upper, lower) = plt.subplots(2, 1, figsize=(width, 2 * height), dpi=150)
        modal.plot.campbell(tracks, upper)
        modal.plot.map(grid, lower)
        fig.canvas.draw()
        return np.asarray(fig.canvas.buffer_rgba())[..., :3] / 255.0


def show(image, inches):
    fig = plt.figure(figsize=(inches, inches * image.shape[0] / image.shape[1]))
    fig.figimage(image, resize=True)


# %%
# One column of a journal, 3.4 inches.
column = draw(3.4, 3.2)
show(column, 3.4)

# %%
# A slide, and a dark page.
show(draw(8.0, 4.2), 8.0)
show(draw(5.0, 3.8, "dark_background"), 5.0)

# %%
# Printed in grey: the luminance.
show(np.repeat((column @ [0.2126, 0.7152, 0.0722])[..., None], 3, -1), 3.4)

# %%
# Without green cones.
cones = [[0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413],
         [-0.011820, 0.042940, 0.968881]]  # fmt: skip
show(np.clip(column**2.2 @ np.transpose(cones), 0.0, 1.0) ** (1 / 2.2), 3.4)
plt.show()
