print("started", flush=True)
while True: pass
