"""Figures of the wind-pump study."""

from __future__ import annotations

import xarray as xr

from studies.figures import curves
from studies.figures.style import colour, figure
from studies.reporting.output import OutputFolder

FLOOR = 1e-9  # Hz: below, a shift is round-off


def draw(dataset: xr.Dataset, out: OutputFolder) -> None:
    """Kinematics, joint forces, eigenvalues and the share of every term."""
    _kinematics(dataset, out)
    _forces(dataset, out)
    _eigenvalues(dataset, out)
    _shares(dataset, out)


def _kinematics(dataset: xr.Dataset, out: OutputFolder) -> None:
    names = ("angle", "angular_velocity", "angular_acceleration")
    with figure(3, 1, width=7.4, height=6.4, sharex=True) as (drawn, axes):
        for ax, name in zip(axes, names, strict=True):
            labels = ["lever BC'", "swing C'D"]
            curves.family(dataset[name], "time", ax, along="link", labels=labels)
            ax.set_xlabel("")
        axes[0].set_title("lever and swing over one turn of the crank")
        curves.beside(axes[0])
        axes[-1].set_xlabel("time (s)")
        out.write_figure(
            "kinematics.png", drawn, "Angles of lever and swing and their two derivatives."
        )


def _forces(dataset: xr.Dataset, out: OutputFolder) -> None:
    with figure(2, 2, width=9.0, height=5.6, sharex=True) as (drawn, axes):
        for i, (ax, joint) in enumerate(zip(axes, "ABCD", strict=True)):
            names = [f"X_{joint}", f"Y_{joint}"]
            for j, name in enumerate(names):
                one = dataset["joint_force"].sel(force=name)
                ax.plot(one["time"], one, color=colour(j), label=f"{'xy'[j]} force")
                other = dataset["joint_force_general"].sel(force=name)
                ax.plot(other["time"][::6], other[::6], "o", color=colour(j), ms=3.5, mfc="white")
            ax.set(ylabel="force (N)", title="joint " + (joint if joint != "C" else "C'"))
            if i > 1:
                ax.set_xlabel("time (s)")
        axes[1].legend(loc="upper left", bbox_to_anchor=(1.01, 1.0))
        out.write_figure(
            "joint-forces.png",
            drawn,
            "Joint forces with their weights: lines by the reduced equations (A43), circles by the "
            "general mechanism.",
        )


def _eigenvalues(dataset: xr.Dataset, out: OutputFolder) -> None:
    count = dataset.sizes["mode"]
    with figure(count, 1, width=7.8, height=2.8 * count, sharex=True) as (drawn, axes):
        for mode, ax in enumerate(axes):
            labels = [str(name) for name in dataset["variant"].values]
            curves.family(
                dataset["frequency"].isel(mode=mode), "time", ax, along="variant", labels=labels,
                styled=True,
            )  # fmt: skip
            ax.ticklabel_format(axis="y", useOffset=False)
            ax.set_title(f"eigenvalue {mode + 1} of the lever BC' over one turn")
            if mode < count - 1:
                ax.set_xlabel("")
        curves.beside(axes[0])
        out.write_figure(
            "eigenvalues.png",
            drawn,
            "The contents of the paper's Figure 6: the first eigenvalues of the lever over one "
            "turn, here as frequencies, with and without terms.",
        )


def _shares(dataset: xr.Dataset, out: OutputFolder) -> None:
    count = dataset.sizes["mode"]
    time = dataset["time"]
    with figure(count, 2, width=10.4, height=3.0 * count, sharex=True) as (drawn, axes):
        for mode in range(count):
            whole, sizes = axes[2 * mode : 2 * mode + 2]
            one = dataset.isel(mode=mode)
            whole.plot(time, one["together"], color="black", lw=2.6, label="all together")
            stress = one["shift"].sel(term="K_G")
            whole.plot(time, stress, "--", color=colour(3), label="K_G alone")
            by_hand = one["shift_by_hand"][::6]
            whole.plot(
                time[::6], by_hand, "o", color=colour(1), ms=4, mfc="white", label="K_G by hand"
            )
            whole.set(ylabel="shift (Hz)", title=f"eigenvalue {mode + 1}: shift of its frequency")
            labels = [f"{name} alone" for name in dataset["term"].values]
            curves.family(
                abs(one["shift"]).where(abs(one["shift"]) > FLOOR), "time", sizes,
                along="term", labels=labels, styled=True, ylabel="|shift| (Hz)",
            )  # fmt: skip
            sizes.set(yscale="log", title=f"eigenvalue {mode + 1}: size of each term's share")
            for ax in (whole, sizes):
                ax.set_xlabel("time (s)" if mode == count - 1 else "")
        axes[0].legend(loc="upper center")
        curves.beside(axes[1])
        out.write_figure(
            "terms.png",
            drawn,
            "Shift of the frequency by each term alone, relative to M and K of the same instant. "
            "Circles: the axial force's first-order effect on a pinned beam, by hand.",
        )
