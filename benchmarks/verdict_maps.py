def map_points(c,s): return []
