import { crc32, deflateSync, inflateSync } from "node:zlib";

/** PNG signature (PNG specification, 5.2). */
const SIGNATURE = Buffer.from("89504e470d0a1a0a", "hex");

/**
 * Reduces a screenshot to 256 colours, about a third of its size. Frequent colours stay; others become the
 * nearest one. Input: 8 bits per channel, RGB or RGBA, not interlaced.
 */
export function withPalette(png: Buffer): Buffer {
  const { header, data } = read(png);
  const [width, height, channels] = [header.readUInt32BE(0), header.readUInt32BE(4), header[9] === 6 ? 4 : 3];
  const pixels = unfiltered(inflateSync(data), width * channels, height, channels);
  const counts = new Map<number, number>();
  const colours = new Uint32Array(width * height);
  for (let at = 0; at < colours.length; at++) {
    const colour = pixels.readUIntBE(at * channels, 3);
    colours[at] = colour;
    counts.set(colour, (counts.get(colour) ?? 0) + 1);
  }
  const palette = [...counts].sort((a, b) => b[1] - a[1]).slice(0, 256);
  const places = new Map(palette.map(([colour], place) => [colour, place]));
  for (const colour of counts.keys()) if (!places.has(colour)) places.set(colour, nearest(colour, palette));
  const rows = Buffer.alloc((width + 1) * height);
  for (let at = 0; at < colours.length; at++)
    rows[at + Math.floor(at / width) + 1] = places.get(colours[at] ?? 0) ?? 0;
  const newHeader = Buffer.from(header);
  newHeader[9] = 3;
  const plte = Buffer.concat(
    palette.map(([colour]) => Buffer.from([colour >> 16, (colour >> 8) & 255, colour & 255])),
  );
  return Buffer.concat([
    SIGNATURE,
    chunk("IHDR", newHeader),
    chunk("PLTE", plte),
    chunk("IDAT", deflateSync(rows, { level: 9, memLevel: 9 })),
    chunk("IEND", Buffer.alloc(0)),
  ]);
}

function nearest(colour: number, palette: readonly (readonly [colour: number, count: number])[]): number {
  let best = 0;
  let smallest = Number.POSITIVE_INFINITY;
  for (const [place, [other]] of palette.entries()) {
    const distance =
      ((colour >> 16) - (other >> 16)) ** 2 +
      (((colour >> 8) & 255) - ((other >> 8) & 255)) ** 2 +
      ((colour & 255) - (other & 255)) ** 2;
    if (distance < smallest) [smallest, best] = [distance, place];
  }
  return best;
}

function read(png: Buffer): { header: Buffer; data: Buffer } {
  const parts: Buffer[] = [];
  let header: Buffer = Buffer.alloc(0);
  for (let at = SIGNATURE.length; at < png.length;) {
    const length = png.readUInt32BE(at);
    const kind = png.toString("latin1", at + 4, at + 8);
    const body = png.subarray(at + 8, at + 8 + length);
    if (kind === "IHDR") header = body;
    if (kind === "IDAT") parts.push(body);
    at += length + 12;
  }
  return { header, data: Buffer.concat(parts) };
}

/** Reverses the filter of each row (PNG specification, 9.2). */
function unfiltered(filtered: Buffer, stride: number, height: number, channels: number): Buffer {
  const pixels = Buffer.alloc(stride * height);
  for (let row = 0; row < height; row++) {
    const kind = filtered[row * (stride + 1)];
    for (let column = 0; column < stride; column++) {
      const at = row * stride + column;
      const left = column < channels ? 0 : (pixels[at - channels] ?? 0);
      const above = row === 0 ? 0 : (pixels[at - stride] ?? 0);
      const corner = row === 0 || column < channels ? 0 : (pixels[at - stride - channels] ?? 0);
      const predicted = [0, left, above, (left + above) >> 1, paeth(left, above, corner)][kind ?? 0] ?? 0;
      pixels[at] = ((filtered[row * (stride + 1) + 1 + column] ?? 0) + predicted) & 255;
    }
  }
  return pixels;
}

function paeth(left: number, above: number, corner: number): number {
  const guess = left + above - corner;
  const [toLeft, toAbove, toCorner] = [
    Math.abs(guess - left),
    Math.abs(guess - above),
    Math.abs(guess - corner),
  ];
  if (toLeft <= toAbove && toLeft <= toCorner) return left;
  return toAbove <= toCorner ? above : corner;
}

function chunk(kind: string, body: Buffer): Buffer {
  const named = Buffer.concat([Buffer.from(kind, "latin1"), body]);
  const whole = Buffer.alloc(named.length + 8);
  whole.writeUInt32BE(body.length, 0);
  named.copy(whole, 4);
  whole.writeUInt32BE(crc32(named), named.length + 4);
  return whole;
}
