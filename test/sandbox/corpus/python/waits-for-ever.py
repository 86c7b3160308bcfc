import js
print("started", flush=True)
js.Atomics.wait(js.Int32Array.new(js.SharedArrayBuffer.new(4)), 0, 0)
