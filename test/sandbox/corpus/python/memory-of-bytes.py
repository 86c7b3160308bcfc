print("started", flush=True)
all = []
while True: all.append(b"x" * (16 << 20))
