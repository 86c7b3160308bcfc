const all = [];
for (;;) {
  const memory = new WebAssembly.Memory({ initial: 256, maximum: 1_024, shared: true });
  new Uint8Array(memory.buffer).fill(1);
  const buffer = new SharedArrayBuffer(1 << 20, { maxByteLength: 1 << 24 });
  buffer.grow(1 << 24);
  new Uint8Array(buffer).fill(1);
  all.push(memory, buffer);
}
