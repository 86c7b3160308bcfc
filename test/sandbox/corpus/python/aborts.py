import os
print("begun", flush=True)
os.abort()
