const zeros = new ReadableStream({ pull(controller) { controller.enqueue(new Uint8Array(1 << 20)); } });
const all = [];
for await (const piece of zeros.pipeThrough(new CompressionStream("gzip")).pipeThrough(new DecompressionStream("gzip"))) all.push(piece.slice());
