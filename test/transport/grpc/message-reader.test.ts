import { describe, expect, it, vi } from "vitest";
import { MAX_MESSAGES, MessageReader } from "../../../src/transport/grpc/message-reader.ts";
import { framed } from "./raw-call.ts";

const messages = [Buffer.from("one"), Buffer.alloc(0), Buffer.from("three"), Buffer.alloc(20, "x")].map(
  (one) => framed(one),
);

describe("the reader of gRPC messages", () => {
  it.each([1, 2, 3, 7, 100])("reads messages from chunks of %i bytes", (size) => {
    const reader = new MessageReader(20);
    const bytes = Buffer.concat(messages);
    const found: Buffer[] = [];
    for (let at = 0; at < bytes.length; at += size)
      found.push(...reader.write(bytes.subarray(at, at + size)));
    expect(found).toEqual(messages);
  });

  it("rejects large messages by their prefix", () => {
    const reader = new MessageReader(20);
    expect(() => reader.write(framed(Buffer.alloc(21)).subarray(0, 5))).toThrow("larger than 20 bytes");
  });

  it("takes no memory for a length that is only declared", () => {
    const allocated = vi.spyOn(Buffer, "allocUnsafe");
    new MessageReader(1024 * 1024).write(framed(Buffer.alloc(1024 * 1024)).subarray(0, 5_000));
    expect(Math.max(...allocated.mock.calls.map(([size]) => size))).toBeLessThan(10_000);
    allocated.mockRestore();
  });

  it("rejects compressed messages by their prefix", () => {
    expect(() => new MessageReader(20).write(framed(Buffer.alloc(3), 1).subarray(0, 5))).toThrow("identity");
  });

  it("limits the messages per stream", () => {
    const reader = new MessageReader(20);
    for (let count = 0; count < MAX_MESSAGES; count++) reader.write(framed(Buffer.alloc(1)));
    expect(() => reader.write(framed(Buffer.alloc(1)))).toThrow("open another");
  });

  it("does not retain the socket buffer", () => {
    const socket = Buffer.alloc(64 * 1024);
    const [found] = new MessageReader(20).write(
      framed(Buffer.from("hi")).copy(socket) ? socket.subarray(0, 7) : socket,
    );
    expect(found?.buffer).not.toBe(socket.buffer);
  });
});
