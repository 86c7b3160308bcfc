import time
print("begun", flush=True)
time.sleep(60)
