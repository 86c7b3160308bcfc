import os
print("started", flush=True)
os._exit(7)
