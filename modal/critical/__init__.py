"""Critical speeds of rotors: where a whirl has the frequency of the rotation."""
