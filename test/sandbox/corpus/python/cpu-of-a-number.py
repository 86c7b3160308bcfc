print("started", flush=True)
len(str(7 ** (10**7) % (3 ** (10**7))))
