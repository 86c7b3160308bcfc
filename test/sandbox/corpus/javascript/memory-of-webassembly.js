const all = [];
for (;;) {
  const memory = new WebAssembly.Memory({ initial: 256, maximum: 65_536 });
  memory.grow(1_024);
  new Uint8Array(memory.buffer).fill(1);
  all.push(memory);
}
