import { mkdtemp, rm, writeFile } from "node:fs/promises";
import os from "node:os";
import path from "node:path";
import { base58 } from "@scure/base";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { findLeaks } from "./leaks.ts";

const TEXT = "hush?not/for:the+log";
const BYTES = Buffer.from(Array.from({ length: 32 }, (_, n) => n * 7 + 3));

let folder: string;
beforeEach(async () => {
  folder = await mkdtemp(path.join(os.tmpdir(), "toolgate-leaks-"));
  const secrets = [
    { kind: "a text", text: TEXT },
    { kind: "bytes", hex: BYTES.toString("hex") },
  ];
  await writeFile(path.join(folder, "1.secrets"), secrets.map((one) => `${JSON.stringify(one)}\n`).join(""));
});
afterEach(() => rm(folder, { recursive: true, force: true }));

async function leaksIn(log: string): Promise<readonly string[]> {
  await writeFile(path.join(folder, "2.log"), log);
  return (await findLeaks(folder)).leaks;
}

const within = (before: string, bytes: Buffer | string, after: string) =>
  Buffer.concat([Buffer.from(before), Buffer.from(bytes), Buffer.from(after)]);

describe("the search for secrets", () => {
  it.each([
    ["as it is", TEXT],
    ["in an address", encodeURIComponent(TEXT)],
    ["in hex", Buffer.from(TEXT).toString("hex")],
    ["in base64", Buffer.from(TEXT).toString("base64")],
    ["in base64url within more", within('{"a":"', TEXT, '"}').toString("base64url")],
    ["in base64 within more, one on", within('{"ab":"', TEXT, '"}').toString("base64")],
    ["in base64 within more, two on", within('{"abc":"', TEXT, '"} ').toString("base64")],
  ])("finds a text %s", async (_, form) => {
    expect(await leaksIn(`{"level":30}\n{"msg":"it is ${form} indeed"}\n`)).toEqual([
      expect.stringMatching(/^a text, in \{"msg":"it is /),
    ]);
  });

  it.each([
    ["in hex", BYTES.toString("hex")],
    ["in upper-case hex", BYTES.toString("hex").toUpperCase()],
    ["in base58", base58.encode(BYTES)],
    ["in base64", BYTES.toString("base64")],
    ["as numbers", JSON.stringify([...BYTES])],
  ])("finds bytes %s", async (_, form) => {
    expect(await leaksIn(`x${form}y`)).toEqual([expect.stringMatching(/^bytes, in x/)]);
  });

  it("never repeats what it found", async () => {
    expect((await leaksIn(`a ${TEXT} b`)).join()).not.toContain(TEXT);
  });

  it("finds nothing in a clean log and reports how much it searched", async () => {
    await writeFile(path.join(folder, "2.log"), `${TEXT.slice(1)} ${TEXT.slice(0, -1)}`);
    expect(await findLeaks(folder)).toEqual({ secrets: 2, bytes: 2 * TEXT.length - 1, leaks: [] });
  });
});
