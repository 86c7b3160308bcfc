import { createPrivateKey, sign } from "node:crypto";
import { TransactionMessage, VersionedMessage, VersionedTransaction } from "@solana/web3.js";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { expectRefused, limit, makeScene, memo, payment, refusalOf, signed } from "./fixture.ts";

const scene = makeScene();
const { payer } = scene;
const good = Buffer.from(signed(scene, payment(scene)));
const message = good.subarray(129);
const payerKey = createPrivateKey({
  key: Buffer.concat([
    Buffer.from("302e020100300506032b657004220420", "hex"),
    payer.secretKey.subarray(0, 32),
  ]),
  format: "der",
  type: "pkcs8",
});

/** Offsets in the valid message. */
const [VERSION, REQUIRED, READONLY_SIGNED, READONLY_UNSIGNED, KEYS] = [0, 1, 2, 3, 4];
const INSTRUCTIONS = KEYS + 1 + 32 * message.readUInt8(KEYS) + 32;

/** A message signed by its payer, valid or not. */
function signedMessage(bytes: Uint8Array, ...signatures: Uint8Array[]): Buffer {
  const all = [Buffer.alloc(64), sign(null, bytes, payerKey), ...signatures];
  return Buffer.concat([Buffer.of(all.length), ...all, bytes]);
}

/** The valid message with some bytes replaced, signed again. */
function spliced(at: number, remove: number, ...bytes: number[]): Buffer {
  return signedMessage(
    Buffer.concat([message.subarray(0, at), Buffer.from(bytes), message.subarray(at + remove)]),
  );
}

const expectMalformed = (bytes: Uint8Array) => expectRefused(scene, bytes, "transaction_malformed");

describe("the wire form", () => {
  it("is refused with 400 when cut off anywhere", () => {
    for (let length = 0; length < good.length; length++) {
      expect(refusalOf(scene, good.subarray(0, length)), `${length}`).toEqual({
        reason: "transaction_malformed",
        status: 400,
      });
    }
  });

  it("is refused with bytes after its end", () => {
    expectMalformed(Buffer.concat([good, Buffer.alloc(1)]));
    expectMalformed(Buffer.concat([good, good]));
    expectMalformed(signedMessage(Buffer.concat([message, Buffer.alloc(1)])));
  });

  it("is refused when longer than a packet", () => {
    const filled = (length: number) =>
      signed(scene, [...payment(scene).slice(0, 3), memo("x".repeat(length))]);
    const room = 1_232 - filled(200).length + 200;

    expectRefused(scene, filled(room), "memo_text");
    expectRefused(scene, filled(room + 1), "transaction_too_large");
  });

  it("is refused in any version but 0", () => {
    expectRefused(scene, Buffer.concat([Buffer.of(0x81), good]), "transaction_version");
    for (const version of [0x81, 0x82, 0xff])
      expectRefused(scene, spliced(VERSION, 1, version), "transaction_version");
  });

  it("is refused when a length is not in its shortest form", () => {
    const [keys, instructions] = [message.readUInt8(KEYS), message.readUInt8(INSTRUCTIONS)];
    expectMalformed(spliced(KEYS, 1, keys | 0x80, 0));
    expectMalformed(spliced(INSTRUCTIONS, 1, instructions | 0x80, 0));
    expectMalformed(spliced(INSTRUCTIONS, 1, instructions | 0x80, 0x80, 0));
    expectMalformed(spliced(KEYS, 1, 0xff, 0xff, 0xff));
    expectMalformed(spliced(KEYS, 1, 0xff, 0xff, 0x04));
    // The lookup tables that it has none of.
    expectMalformed(spliced(message.length - 1, 1, 0x80, 0));
  });

  it("is refused when its header contradicts its signatures and accounts", () => {
    expectMalformed(spliced(REQUIRED, 1, 1));
    expectMalformed(spliced(REQUIRED, 1, 3));
    expectMalformed(spliced(READONLY_SIGNED, 1, 2));
    expectMalformed(spliced(READONLY_UNSIGNED, 1, message.readUInt8(KEYS) - 1));
    expectMalformed(Buffer.concat([Buffer.of(0), message]));
  });

  it("is refused with another number of signatures than required", () => {
    expectRefused(
      scene,
      signedMessage(spliced(REQUIRED, 1, 3).subarray(129), Buffer.alloc(64)),
      "signer_count",
    );
    expectMalformed(signedMessage(message, Buffer.alloc(64)));
    expectMalformed(Buffer.concat([Buffer.of(1), good.subarray(65)]));
  });

  it("is refused with duplicate or unused accounts", () => {
    const key = (index: number) => [...message.subarray(KEYS + 1 + 32 * index, KEYS + 1 + 32 * (index + 1))];
    expectMalformed(spliced(KEYS + 1 + 32 * 2, 32, ...key(3)));

    const keys = message.readUInt8(KEYS);
    const extra = Buffer.from(message);
    extra.writeUInt8(keys + 1, KEYS);
    const at = KEYS + 1 + 32 * keys;
    const widened = Buffer.concat([extra.subarray(0, at), Buffer.alloc(32, 9), extra.subarray(at)]);
    expectRefused(scene, signedMessage(widened), "account_unused");
  });

  it("is refused with indexes out of range or the fee payer as a program", () => {
    expectMalformed(spliced(INSTRUCTIONS + 1, 1, 0));
    expectMalformed(spliced(INSTRUCTIONS + 1, 1, message.readUInt8(KEYS)));
    const transfer = INSTRUCTIONS + 1 + (3 + limit().data.length) + (3 + 9);
    expect(message.readUInt8(transfer + 1)).toBe(4);
    expectMalformed(spliced(transfer + 2, 1, 200));
  });
});

describe("a valid transaction with changed bytes", () => {
  const change = fc.record({
    at: fc.nat({ max: good.length }),
    remove: fc.nat({ max: 2 }),
    insert: fc.uint8Array({ maxLength: 2 }),
  });
  const changes = fc.array(change, { minLength: 1, maxLength: 3 });
  const apply = (bytes: Buffer, list: readonly { at: number; remove: number; insert: Uint8Array }[]) =>
    list.reduce(
      (now, { at, remove, insert }) =>
        Buffer.concat([now.subarray(0, at), insert, now.subarray(at + remove)]),
      bytes,
    );

  it("is signed only if its message is unchanged, byte for byte", () => {
    const flips = fc.array(fc.nat({ max: good.length * 8 - 1 }), { minLength: 1, maxLength: 2 });
    const flip = (bits: readonly number[]) => {
      const bytes = Buffer.from(good);
      for (const bit of bits) bytes.writeUInt8(bytes.readUInt8(bit >> 3) ^ (1 << (bit & 7)), bit >> 3);
      return bytes;
    };
    const mutants = fc.oneof(
      flips.map(flip),
      changes.map((list) => apply(good, list)),
    );
    fc.assert(
      fc.property(mutants, (bytes) => {
        if (refusalOf(scene, bytes)) return;
        expect(bytes.subarray(129).equals(message)).toBe(true);
        expect(bytes.subarray(65, 129).equals(good.subarray(65, 129))).toBe(true);
      }),
      { numRuns: 1_500 },
    );
  });

  it("is signed with a changed message only if an independent parser finds the same payment", () => {
    const wanted = meaningOf(good);
    let taken = 0;
    fc.assert(
      fc.property(changes, (list) => {
        const bytes = signedMessage(apply(message, list));
        if (refusalOf(scene, bytes)) return;
        taken++;
        const { units, bid, ...meaning } = meaningOf(bytes);
        expect(meaning).toEqual({ ...wanted, units: undefined, bid: undefined });
        expect(units).toBeLessThanOrEqual(60_000);
        expect(bid).toBeLessThanOrEqual(50_000n);
      }),
      { numRuns: 1_500 },
    );
    // Another blockhash is no other payment.
    expect(taken).toBeGreaterThan(0);
  });

  it("returns an error and never crashes for random bytes", () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 1_300 }), (bytes) => {
        expect(refusalOf(scene, bytes)?.status).toBe(400);
      }),
      { numRuns: 300 },
    );
  });

  /** The payment as web3.js parses it. */
  function meaningOf(bytes: Buffer) {
    const transaction = VersionedTransaction.deserialize(bytes);
    expect(Buffer.from(transaction.serialize()).equals(bytes), "written back as it was").toBe(true);
    const read = TransactionMessage.decompile(VersionedMessage.deserialize(bytes.subarray(129)));
    const [budget, price, ...rest] = read.instructions;
    return {
      units: budget?.data.readUInt32LE(1),
      bid: price?.data.readBigUInt64LE(1),
      feePayer: read.payerKey.toBase58(),
      programs: read.instructions.map(({ programId }) => programId.toBase58()),
      rest: rest.map(({ keys, data }) => ({
        data: data.toString("hex"),
        keys: keys.map(({ pubkey }) => pubkey.toBase58()),
      })),
    };
  }
});
