/** Types of frames (RFC 9113 section 6). */
export const FRAME = {
  data: 0,
  headers: 1,
  priority: 2,
  reset: 3,
  settings: 4,
  ping: 6,
  window: 8,
  continuation: 9,
};

/** Flags of HEADERS, CONTINUATION and DATA; acknowledgement of SETTINGS and PING. */
export const FLAG = { ack: 1, endStream: 1, endHeaders: 4, padded: 8 };

/** The client's preface with empty SETTINGS (RFC 9113 section 3.4). */
export const PREFACE = Buffer.concat([
  Buffer.from("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"),
  frame(FRAME.settings),
]);

/** Encodes a frame, including ones that client libraries never send. */
export function frame(type: number, flags = 0, stream = 0, payload: Uint8Array = new Uint8Array()): Buffer {
  const head = Buffer.alloc(9);
  head.writeUIntBE(payload.length, 0, 3);
  head.writeUInt8(type, 3);
  head.writeUInt8(flags, 4);
  head.writeUInt32BE(stream, 5);
  return Buffer.concat([head, payload]);
}

export function framesIn(bytes: Buffer): { type: number; flags: number; payload: Buffer }[] {
  const frames = [];
  for (let at = 0; at + 9 <= bytes.length;) {
    const end = at + 9 + bytes.readUIntBE(at, 3);
    if (end > bytes.length) break;
    frames.push({
      type: bytes.readUInt8(at + 3),
      flags: bytes.readUInt8(at + 4),
      payload: bytes.subarray(at + 9, end),
    });
    at = end;
  }
  return frames;
}

/**
 * Headers as HPACK literals that are not indexed (RFC 7541 section 6.2.2), each shorter than 127 characters.
 */
export function headerBlock(headers: Readonly<Record<string, string>>): Buffer {
  const text = (value: string) => [Buffer.from([value.length]), Buffer.from(value, "latin1")];
  return Buffer.concat(
    Object.entries(headers).flatMap(([name, value]) => [Buffer.alloc(1), ...text(name), ...text(value)]),
  );
}
