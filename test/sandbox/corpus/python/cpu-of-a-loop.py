print("begun", flush=True)
while True: pass
