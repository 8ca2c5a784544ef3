"""The public names of `modal`; modal/__init__.py imports them at their first use."""

from modal.checks.crosscheck import crosscheck as crosscheck
from modal.checks.crosscheck_amplitudes import crosscheck_amplitudes as crosscheck_amplitudes
from modal.checks.diagnosis import (
    CrossCheck as CrossCheck,
)
from modal.checks.diagnosis import (
    CrossCheckInterrupted as CrossCheckInterrupted,
)
from modal.checks.identification import identify as identify
from modal.checks.identification import matrix_pencil as matrix_pencil
from modal.checks.properties import PropertyReport as PropertyReport
from modal.checks.properties import properties as properties
from modal.critical.critical_speeds import critical_speeds as critical_speeds
from modal.data.storage import read_dataset as read_dataset
from modal.data.storage import write_dataset as write_dataset
from modal.eigen.modes import Modes as Modes
from modal.eigen.solve import solve as solve
from modal.exchange.mac import mac as mac
from modal.exchange.matrices import write_matrices as write_matrices
from modal.exchange.shape_set import ShapeSet as ShapeSet
from modal.exchange.shape_set import shape_set as shape_set
from modal.exchange.uff import read_uff as read_uff
from modal.exchange.uff import write_uff as write_uff
from modal.exchange.vtk import write_motion as write_motion
from modal.exchange.vtk import write_shapes as write_shapes
from modal.explorer.page import write_explorer as write_explorer
from modal.explorer.placed_bodies import PlacedBody as PlacedBody
from modal.explorer.placed_bodies import placed_bodies as placed_bodies
from modal.explorer.views import ExplorerView as ExplorerView
from modal.explorer.views import explorer_view as explorer_view
from modal.maps.stability_maps import stability_map as stability_map
from modal.periodic.floquet import floquet as floquet
from modal.periodic.floquet_modes import FloquetModes as FloquetModes
from modal.periodic.hill import hill_chart as hill_chart
from modal.periodic.multiblade import MultibladeFamily as MultibladeFamily
from modal.periodic.multiblade import multiblade as multiblade
from modal.periodic.periodic_tracks import track_periodic as track_periodic
from modal.periodic.rotor_verdict import rotor_verdict as rotor_verdict
from modal.proofs.box import Box as Box
from modal.proofs.verdict import Stability as Stability
from modal.proofs.verdict import stability as stability
from modal.response.frequency_response import frequency_response as frequency_response
from modal.response.state_space import state_space as state_space
from modal.response.state_space import state_space_family as state_space_family
from modal.response.unbalance import unbalance_response as unbalance_response
from modal.tracking.events import events as events
from modal.tracking.following import Rules as Rules
from modal.tracking.tracking import TrackingInterrupted as TrackingInterrupted
from modal.tracking.tracking import track as track
from modal.transient.base_motion import ShockPulse as ShockPulse
from modal.transient.base_motion import base_motion as base_motion
from modal.transient.loads import (
    Harmonic as Harmonic,
)
from modal.transient.loads import (
    Impulse as Impulse,
)
from modal.transient.loads import (
    InertiaLoads as InertiaLoads,
)
from modal.transient.loads import (
    Tabulated as Tabulated,
)
from modal.transient.transient import integrate as integrate
