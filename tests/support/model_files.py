"""Parts of model files that tests share."""

BEAM = """
[material.steel]
E = 210e9
nu = 0.3
rho = 7850

[body.blade]
kind = "beam"
length = 1.0
section = { shape = "rectangle", width = 0.05, height = 0.02 }
material = "steel"
elements = 6
clamped = "start"

"""

SPIN = BEAM + '[motion]\nkind = "spin"\naxis = [0, 0, 1]\nomega = 100.0\n\n[analysis]\nmodes = 3\n'

# A track that takes its time at every instant: each is about a deformed equilibrium of its own.
SLOW_TRACK = SPIN + 'prestress = "nonlinear"\n'
SLOW_INSTANTS = 24
SLOW_OPTIONS = ["--over", f"omega=0:400:{SLOW_INSTANTS}"]

CRANK = """
[material.steel]
E = 210e9
nu = 0.3
rho = 7850

[body.crank]
kind = "beam"
length = 0.15
section = { shape = "rectangle", width = 0.03, height = 0.03 }
material = "steel"
elements = 2

[body.rod]
kind = "beam"
length = 0.30
section = { shape = "rectangle", width = 0.01, height = 0.02 }
material = "steel"
elements = 3

[body.slider]
kind = "rigid"
mass = 0.3

[joint.A]
kind = "revolute"
bodies = ["ground", "crank"]
at = [0.0, 0.0]

[joint.B]
kind = "revolute"
bodies = ["crank", "rod"]
at = [0.15, 0.0]

[joint.C]
kind = "revolute"
bodies = ["rod", "slider"]
at = [0.45, 0.0]

[joint.D]
kind = "prismatic"
bodies = ["ground", "slider"]
at = [0.45, 0.0]

[driver.motor]
joint = "A"
speed_rpm = 1500
"""
