import js
print("started", flush=True)
all = []
while True: all.append(js.Uint8Array.new(8 << 20).fill(1))
