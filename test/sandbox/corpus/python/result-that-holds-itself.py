ring = {}
ring["ring"] = [ring, float("nan"), 10**400, {1: 2, None: 3}]
ring
