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
