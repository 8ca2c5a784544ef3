"""Figures of the measured-motion study."""

from __future__ import annotations

import xarray as xr

from studies.figures import curves
from studies.figures.style import colour, figure
from studies.reporting.output import OutputFolder

LABELS = {
    "omega_z": "ω (rad/s)",
    "epsilon_z": "ε (rad/s²)",
    "a_x": "a_O along the bar (m/s²)",
    "a_y": "a_O across the bar (m/s²)",
}


def draw(dataset: xr.Dataset, out: OutputFolder) -> None:
    """The fitted motion, the frequencies along it, the way of the noise, the response."""
    _kinematics(dataset.isel(regime=-1), out)
    _frequencies(dataset, out)
    _noise(dataset, out)
    if "deflection" in dataset:
        _response(dataset, out)


def _kinematics(fastest: xr.Dataset, out: OutputFolder) -> None:
    turn = fastest["turn"]
    with figure(4, 2, width=10.0, height=8.0, sharex=True) as (drawn, axes):
        for i, name in enumerate(fastest["quantity"].values):
            left, right = axes[2 * i : 2 * i + 2]
            one = fastest.sel(quantity=name)
            left.plot(turn, one["kinematics_true"], color="black", lw=2.4, label="true")
            left.plot(
                turn, one["kinematics_fitted"], "--", color=colour(4), label="fitted to markers"
            )
            left.set_ylabel(LABELS[str(name)])
            error = one["kinematics_fitted"] - one["kinematics_true"]
            band = 2.0 * one["kinematics_deviation"]
            right.fill_between(
                turn, -band, band, color=colour(5), alpha=0.35, lw=0, label="± 2 deviations"
            )
            right.plot(turn, error, color=colour(0), label="fitted − true")
            right.plot(
                turn, one["kinematics_smoothing"], ":", color=colour(1), label="by smoothing alone"
            )
        axes[0].set_title("rigid motion at the fastest speed")
        axes[1].set_title("its error")
        axes[0].legend(loc="best")
        axes[1].legend(loc="upper left", bbox_to_anchor=(1.01, 1.0))
        for ax in axes[-2:]:
            ax.set_xlabel("part of a turn")
        out.write_figure(
            "rigid-motion.png",
            drawn,
            "Angular velocity, angular acceleration and acceleration of the frame's origin from "
            "the markers, and their errors beside two predicted standard deviations.",
        )


def _frequencies(dataset: xr.Dataset, out: OutputFolder) -> None:
    count = dataset.sizes["mode"]
    turn = dataset["turn"]
    with figure(1, count, width=5.0 * count, height=3.8) as (drawn, axes):
        for mode, ax in enumerate(axes):
            one = dataset.isel(mode=mode)
            for i in range(dataset.sizes["regime"]):
                row = one.isel(regime=i)
                speed = float(row["speed"]) * 30.0 / 3.141592653589793
                band = 2.0 * row["frequency_deviation"]
                middle = row["frequency_fitted"]
                ax.fill_between(turn, middle - band, middle + band, color=colour(i), alpha=0.25)
                ax.plot(turn, row["frequency_true"], color=colour(i), label=f"{speed:.0f} rpm")
                ax.plot(turn, middle, ":", color=colour(i))
            rest = float(one["frequency_at_rest"])
            ax.axhline(rest, color="0.4", lw=0.8, ls="--", label="at rest")
            ax.ticklabel_format(axis="y", useOffset=False)
            ax.set(
                xlabel="part of a turn",
                ylabel="frequency (Hz)",
                title=f"mode {mode + 1} along the motion",
            )
        curves.beside(axes[-1], "crank speed")
        out.write_figure(
            "frequencies.png",
            drawn,
            "The bar's frequencies along the motion at the five speeds of Table 2. Those of the "
            "fitted motion (dotted, with two standard deviations) lie on those of the true one.",
        )


def _noise(dataset: xr.Dataset, out: OutputFolder) -> None:
    with figure(1, 2, width=9.4, height=3.6) as (drawn, (left, right)):
        noise = 1e3 * dataset["swept_noise"]
        left.loglog(noise, dataset["swept_predicted"], "--", color=colour(1), label="predicted")
        left.loglog(noise, dataset["swept_error"], "o", color=colour(0), label="found")
        left.set(
            xlabel="noise of a marker (mm)",
            ylabel="error of the first frequency, rms (Hz)",
            title="from marker noise to frequency",
        )
        left.legend(loc="best")
        true = float(dataset["repeated_true"])
        predicted = float(dataset["repeated_predicted"])
        found = 1e3 * (dataset["repeated_frequency"].values - true)
        right.axvspan(-2e3 * predicted, 2e3 * predicted, color=colour(5), alpha=0.35, lw=0,
                      label="± 2 predicted deviations")  # fmt: skip
        right.hist(found, bins=9, color=colour(0), rwidth=0.92, label="repeated records")
        right.set(
            xlabel="error of the first frequency (mHz)",
            ylabel="records",
            title="the same instant, records with new noise",
        )
        right.set_axisbelow(True)
        right.set_ylim(0, 1.45 * right.get_ylim()[1])
        right.legend(loc="upper left")
        out.write_figure(
            "noise.png",
            drawn,
            "How marker noise comes through to the first frequency, at the fastest speed.",
        )


def _response(dataset: xr.Dataset, out: OutputFolder) -> None:
    time = dataset["time"]
    deflection = 1e6 * dataset["deflection"]
    with figure(2, 1, width=8.0, height=5.6, sharex=True) as (drawn, (upper, lower)):
        true = deflection.sel(run="Lagrange, true motion")
        upper.plot(time, true, color="black", lw=2.6, label="true motion, Lagrange")
        upper.plot(time, deflection.sel(run="Lagrange"), color=colour(4), label="fitted, Lagrange")
        upper.plot(
            time, deflection.sel(run="Hamilton"), "--", color=colour(0), label="fitted, Hamilton"
        )
        upper.set(ylabel="deflection (µm)", title="middle of the bar, from rest under its inertia")
        curves.beside(upper)
        apart = abs(deflection.sel(run="Lagrange") - deflection.sel(run="Hamilton"))
        halved = abs(
            deflection.sel(run="Lagrange, half the step")
            - deflection.sel(run="Hamilton, half the step")
        )
        noise = abs(deflection.sel(run="Lagrange") - true)
        for k, (values, label) in enumerate(
            (
                (noise, "by the noise of the markers"),
                (apart, "Lagrange − Hamilton"),
                (halved, "the same, half the step"),
            )
        ):
            lower.semilogy(time[1:], values[1:], curves.STYLES[k], color=colour(k + 1), label=label)
        lower.set(xlabel="time (s)", ylabel="difference (µm)", title="differences")
        curves.beside(lower)
        out.write_figure(
            "response.png",
            drawn,
            "Deflection of the middle of the bar at the fastest speed, and what separates the two "
            "formalisms and the two motions.",
        )
