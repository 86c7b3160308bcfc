print("started", flush=True)
all = []
while True: all.append([0] * 1_000_000)
