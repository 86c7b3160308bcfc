import { readdir, readFile } from "node:fs/promises";
import path from "node:path";
import { base58 } from "@scure/base";
import { z } from "zod";

/** Secrets found in a run's record (test/support/record.ts). */
export interface Leaks {
  readonly secrets: number;
  /** Amount of text searched. */
  readonly bytes: number;
  /** One line per secret with its kind and place, never the secret itself. */
  readonly leaks: readonly string[];
}

const entry = z.union([
  z.object({ kind: z.string(), text: z.string() }),
  z.object({ kind: z.string(), hex: z.string() }),
]);

/** Length of the searched prefix; shorter secrets are searched whole. */
const KEY = 12;

/**
 * Searches for every secret in every form: plain, in an address, in base64 (both alphabets, any offset),
 * hex, base58 and lists of numbers.
 */
export async function findLeaks(folder: string): Promise<Leaks> {
  const names = await readdir(folder);
  const read = (name: string) => readFile(path.join(folder, name), "utf8");
  const secretFiles = await Promise.all(names.filter((name) => name.endsWith(".secrets")).map(read));
  const lines = new Set(secretFiles.flatMap((text) => text.split("\n")).filter((line) => line !== ""));
  const index = indexOf([...lines].map((line) => entry.parse(JSON.parse(line))));
  const found = new Map<string, string>();
  let bytes = 0;
  for (const name of names.filter((one) => one.endsWith(".log"))) {
    const text = await read(name);
    bytes += text.length;
    for (let at = 0; at + KEY <= text.length; at++) {
      for (const { kind, form } of index.get(text.slice(at, at + KEY)) ?? []) {
        if (text.startsWith(form, at)) found.set(`${kind} ${form}`, `${kind}, in ${around(text, at, form)}`);
      }
    }
  }
  return { secrets: lines.size, bytes, leaks: [...found.values()] };
}

interface Form {
  readonly kind: string;
  readonly form: string;
}

/** The forms by their first characters. */
function indexOf(entries: readonly z.output<typeof entry>[]): ReadonlyMap<string, Form[]> {
  const index = new Map<string, Form[]>();
  for (const one of entries) {
    for (const form of new Set(
      "text" in one ? formsOfText(one.text) : formsOfBytes(Buffer.from(one.hex, "hex")),
    )) {
      if (form.length < KEY) throw new Error(`a secret is too short to be looked for: ${one.kind}`);
      const key = form.slice(0, KEY);
      index.set(key, [...(index.get(key) ?? []), { kind: one.kind, form }]);
    }
  }
  return index;
}

function formsOfText(text: string): string[] {
  return [text, encodeURIComponent(text), ...encoded(Buffer.from(text))];
}

function formsOfBytes(bytes: Buffer): string[] {
  return [base58.encode(bytes), bytes.join(","), bytes.join(", "), ...encoded(bytes)];
}

function encoded(bytes: Buffer): string[] {
  const hex = bytes.toString("hex");
  const base64 = [0, 1, 2].map((before) => {
    // Neighbours change the characters at the ends, so those are omitted.
    const text = Buffer.concat([Buffer.alloc(before), bytes])
      .toString("base64")
      .replace(/=+$/, "");
    return text.slice(before === 0 ? 0 : before + 1, (before + bytes.length) % 3 === 0 ? undefined : -1);
  });
  const both = base64.flatMap((form) => [form, form.replaceAll("+", "-").replaceAll("/", "_")]);
  return [hex, hex.toUpperCase(), ...both];
}

/** The text around a secret, without it. */
function around(text: string, at: number, form: string): string {
  const line = text.slice(text.lastIndexOf("\n", at) + 1, at).slice(-200);
  const rest = text.slice(at + form.length).split("\n", 1)[0] ?? "";
  return `${line}***${rest.slice(0, 60)}`;
}
