import time
print("started", flush=True)
time.sleep(60)
