import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { BoundedText, FrameReader } from "../../../src/sandbox/process/guest-output.ts";

const NONCE = "0123456789abcdef0123456789abcdef";

const frame = (body: unknown, nonce = NONCE) => {
  const json = Buffer.from(typeof body === "string" ? body : JSON.stringify(body));
  return Buffer.concat([Buffer.from(`\0${nonce}${json.length.toString(16).padStart(8, "0")}`), json]);
};
const ANSWER = { result: { a: [1] }, tooLarge: false, error: null };

function readAll(pieces: readonly Buffer[]) {
  const guest: Buffer[] = [];
  const reader = new FrameReader(NONCE, (bytes) => guest.push(Buffer.from(bytes)));
  for (const piece of pieces) reader.add(piece);
  const frameRead = reader.end();
  return { frameRead, guest: Buffer.concat(guest) };
}

describe("output of a worker", () => {
  it("separates the frame from guest output at any chunk boundary", () => {
    const pieces = fc.array(fc.nat(200), { maxLength: 8 });
    const noise = fc.uint8Array({ maxLength: 60 }).map((bytes) => Buffer.from(bytes));
    fc.assert(
      fc.property(noise, noise, pieces, (before, after, cuts) => {
        const whole = Buffer.concat([before, Buffer.from("\0"), frame(ANSWER), after]);
        const at = [...new Set(cuts.map((cut) => cut % whole.length))].sort((one, other) => one - other);
        const parts = [0, ...at].map((start, index) => whole.subarray(start, at[index] ?? whole.length));
        const { frameRead, guest } = readAll(parts);
        expect(frameRead).toEqual(ANSWER);
        expect(guest).toEqual(Buffer.concat([before, Buffer.from("\0"), after]));
      }),
    );
  });

  it("rejects a result longer than 256 KiB as serialised here", () => {
    const result = (count: number) =>
      readAll([frame(`{"result":[${"1e20,".repeat(count)}1],"tooLarge":false,"error":null}`)]).frameRead;
    expect(result(11_000)?.tooLarge).toBe(false);
    expect(result(20_000)).toEqual({ result: null, tooLarge: true, error: null });
  });

  it("copies a frame of single bytes once", () => {
    const text = "x".repeat(1_000_000);
    const whole = frame({ ...ANSWER, error: { name: "", value: "", traceback: text } });
    const { frameRead, guest } = readAll(Array.from(whole, (byte) => Buffer.from([byte])));
    expect(frameRead?.error?.traceback).toBe(text);
    expect(guest).toHaveLength(0);
  });

  it.each([
    ["of another run", frame(ANSWER, "f".repeat(32))],
    ["that is longer than any", Buffer.from(`\0${NONCE}7fffffff{}`)],
    ["without a length", Buffer.from(`\0${NONCE}zzzzzzzz{}`)],
  ])("treats a frame %s as guest output", (_what, bytes) => {
    const { frameRead, guest } = readAll([bytes]);
    expect(frameRead).toBeUndefined();
    expect(guest.length).toBeGreaterThan(0);
  });

  it.each(["{", "[]", '{"result":1}', '{"result":1,"tooLarge":false,"error":{"name":1}}'])(
    "returns no result from %s",
    (body) => {
      expect(readAll([frame(body)]).frameRead).toBeUndefined();
    },
  );

  it("makes text well-formed, keeps odd names, and rejects deep nesting", () => {
    const odd = String.raw`{"result":{"\ud800":"\udfff","__proto__":[null,true,1.5]},"tooLarge":false,"error":null}`;
    const { frameRead } = readAll([frame(odd)]);
    expect(JSON.stringify(frameRead?.result)).toBe('{"\ufffd":"\ufffd","__proto__":[null,true,1.5]}');
    const deep = `{"result":${"[".repeat(40_000)}${"]".repeat(40_000)},"tooLarge":false,"error":null}`;
    expect(readAll([frame(deep)]).frameRead).toEqual({ result: null, tooLarge: true, error: null });
  });
});

describe("BoundedText", () => {
  it("cuts between characters at its limit of decoded bytes", () => {
    const text = new BoundedText(7);
    expect(text.append(Buffer.from("aé"))).toBe(true);
    expect(text.append(Buffer.from("😀"))).toBe(true);
    expect(text.append(Buffer.from("b"))).toBe(false);
    expect([text.text(), text.truncated]).toEqual(["aé😀", true]);
  });

  it("counts invalid UTF-8 as its replacement", () => {
    const text = new BoundedText(6);
    expect(text.append(Buffer.from([255, 255]))).toBe(true);
    expect(text.append(Buffer.from([255]))).toBe(false);
    expect(text.text()).toBe("\ufffd\ufffd");
  });

  it("joins split characters, and keeps a byte order mark and NUL", () => {
    const text = new BoundedText(100);
    const bytes = Buffer.from("\ufeff\0😀");
    text.append(bytes.subarray(0, 6));
    text.append(bytes.subarray(6));
    expect(text.text()).toBe("\ufeff\0😀");
  });
});
