const all = [];
for (let refused = 0; refused < 1_000_000;) {
  try {
    all.push(new Uint8Array(4 << 20).fill(1));
  } catch {
    refused += 1;
  }
}
