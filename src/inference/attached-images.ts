import { randomUUID } from "node:crypto";
import { setImmediate } from "node:timers/promises";
import type { JsonObject } from "../domain/core/json.ts";
import type { AttachedTexts } from "../domain/tools/chat.ts";
import { withImageData } from "../domain/tools/images.ts";

/** Returns a body as JSON in which the images are where they are named, without building their text. */
export async function withImages(body: JsonObject, attached: AttachedTexts): Promise<Buffer> {
  // Unlike the names, these are in no text of the caller.
  const places = new Map<string, Uint8Array>();
  const named = withImageData(body, (data) => {
    const bytes = attached.get(data);
    if (!bytes) return data;
    const place = randomUUID();
    places.set(place, bytes);
    return place;
  });
  let rest = JSON.stringify(named);
  const pieces: Uint8Array[] = [];
  for (const [place, image] of places) {
    const at = rest.indexOf(place);
    pieces.push(Buffer.from(rest.slice(0, at)), image);
    rest = rest.slice(at + place.length);
  }
  return joined([...pieces, Buffer.from(rest)]);
}

/** Bytes of which copying keeps the thread for less than a millisecond. */
const SLICE_BYTES = 1024 * 1024;

/** Buffer.concat that lets other work in between. */
async function joined(pieces: readonly Uint8Array[]): Promise<Buffer> {
  const whole = Buffer.allocUnsafe(pieces.reduce((sum, { length }) => sum + length, 0));
  let end = 0;
  for (const piece of pieces)
    for (let at = 0; at < piece.length; at += SLICE_BYTES) {
      const slice = piece.subarray(at, at + SLICE_BYTES);
      whole.set(slice, end);
      end += slice.length;
      if (slice.length === SLICE_BYTES) await setImmediate();
    }
  return whole;
}
