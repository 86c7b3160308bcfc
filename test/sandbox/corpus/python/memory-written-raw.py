import ctypes
print("started", flush=True)
for at in range(0, 1 << 26, 1 << 12):
    ctypes.memset(at, 0xFF, 1 << 12)
print("still there")
