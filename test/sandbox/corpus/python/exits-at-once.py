import os
print("begun", flush=True)
os._exit(7)
