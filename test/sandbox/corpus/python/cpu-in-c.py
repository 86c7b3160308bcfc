print("begun", flush=True)
sum(range(10**12))
