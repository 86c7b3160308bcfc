import { describe, expect, it } from "vitest";
import { MAX_MESSAGES, SmallMessages } from "../../../src/transport/grpc/small-messages.ts";
import { framed } from "./raw-call.ts";

const messages = [Buffer.from("one"), Buffer.alloc(0), Buffer.from("three"), Buffer.alloc(20, "x")].map(
  (one) => framed(one),
);

describe("small messages", () => {
  it.each([1, 2, 3, 7, 100])("reads messages from chunks of %i bytes", (size) => {
    const reader = new SmallMessages(20);
    const bytes = Buffer.concat(messages);
    const found: Buffer[] = [];
    for (let at = 0; at < bytes.length; at += size)
      found.push(...reader.write(bytes.subarray(at, at + size)));
    expect(found).toEqual(messages);
  });

  it("rejects large messages by their prefix", () => {
    const reader = new SmallMessages(20);
    expect(() => reader.write(framed(Buffer.alloc(21)).subarray(0, 5))).toThrow("larger than 20 bytes");
  });

  it("limits the messages per stream", () => {
    const reader = new SmallMessages(20);
    for (let count = 0; count < MAX_MESSAGES; count++) reader.write(framed(Buffer.alloc(1)));
    expect(() => reader.write(framed(Buffer.alloc(1)))).toThrow("open another");
  });

  it("does not retain the socket buffer", () => {
    const socket = Buffer.alloc(64 * 1024);
    const [found] = new SmallMessages(20).write(
      framed(Buffer.from("hi")).copy(socket) ? socket.subarray(0, 7) : socket,
    );
    expect(found?.buffer).not.toBe(socket.buffer);
  });
});
