import { createReadStream } from "node:fs";
import { open } from "node:fs/promises";
import { createInterface } from "node:readline";
import { z } from "zod";
import type { LoggedSeal } from "../app/operations/logged-seals.ts";
import { parsedJson } from "../domain/core/json.ts";
import { CommandError } from "./command.ts";

const operatorAction = z.object({
  event: z.literal("operator_action"),
  action_id: z.string(),
  at: z.string(),
  action: z.string(),
  target: z.string(),
  details: z.unknown(),
});

const operatorLine = z.discriminatedUnion("event", [
  z.object({ event: z.literal("key_revoked"), key_id: z.string(), at: z.string() }),
  operatorAction,
  z.object({
    event: z.literal("audit_seal"),
    at: z.string(),
    number: z.number(),
    up_to: z.string(),
    hash: z.string(),
  }),
]);

const reconciled = z.object({ action: z.literal("database.reconcile"), at: z.string() });
const sealedThen = z.object({ details: z.object({ last_seal: z.number() }) });

/** Shippers of logs change the form of times: a charge counts in any case. */
const time = z.iso.datetime().or(z.number().transform((ms) => new Date(ms).toISOString()));

const requestLine = z.object({
  event: z.literal("request"),
  time: time.optional().catch(undefined),
  receipt_id: z.string(),
  account_id: z.string().optional(),
  tool: z.string().optional(),
});

/** What files of OPERATOR_LOG know. */
export interface OperatorLog {
  /** When keys were revoked, by `key_…`. */
  readonly revoked: ReadonlyMap<string, string>;
  /** By `act_…`. */
  readonly actions: ReadonlyMap<string, z.output<typeof operatorAction>>;
  readonly seals: readonly LoggedSeal[];
  /** When a restored database was reconciled last; what is older can be gone. */
  readonly restoredAt: string | undefined;
}

/** Reads files of OPERATOR_LOG. @throws CommandError for a file that cannot be read */
export async function readOperatorLog(files: readonly string[]): Promise<OperatorLog> {
  const revoked = new Map<string, string>();
  const actions = new Map<string, z.output<typeof operatorAction>>();
  const seals: LoggedSeal[] = [];
  const restores: string[] = [];
  for (const file of files)
    for await (const line of linesOf(file)) {
      const { data } = operatorLine.safeParse(line);
      if (data?.event === "key_revoked") {
        // A replaced key may still work for a while.
        if (Date.parse(data.at) <= Date.now()) revoked.set(data.key_id, data.at);
      } else if (data?.event === "audit_seal") {
        const { at, number, up_to: upTo, hash } = data;
        seals.push({ at, number, upTo, hash });
      } else if (data) {
        actions.set(data.action_id, data);
        const restored = reconciled.safeParse(data).data;
        const lastSeal = sealedThen.safeParse(data).data?.details.last_seal ?? 0;
        if (restored) seals.push({ at: data.at, lastSeal });
        if (restored) restores.push(data.at);
      }
    }
  return { revoked, actions, seals, restoredAt: restores.toSorted().at(-1) };
}

/** By `rcpt_…`. */
export type Charges = ReadonlyMap<string, z.output<typeof requestLine>>;

/** Charges per query. */
const PART = 5_000;

/** Reads charges from logs of gateways, in parts. @throws CommandError for a file that cannot be read */
export async function* readRequestLog(files: readonly string[]): AsyncGenerator<Charges> {
  let part = new Map<string, z.output<typeof requestLine>>();
  for (const file of files)
    for await (const line of linesOf(file)) {
      const { data } = requestLine.safeParse(line);
      if (data) part.set(data.receipt_id, data);
      if (part.size < PART) continue;
      yield part;
      part = new Map();
    }
  if (part.size > 0) yield part;
}

/** JSON values of a file's lines; other lines are skipped. */
async function* linesOf(file: string): AsyncGenerator {
  try {
    await requireText(file);
    for await (const line of createInterface({ input: createReadStream(file), crlfDelay: Infinity })) {
      const start = line.indexOf("{");
      const value = start < 0 ? undefined : parsedJson(line.slice(start));
      if (value !== undefined) yield value;
    }
  } catch (error) {
    if (error instanceof CommandError) throw error;
    const reason = error instanceof Error ? error.message : String(error);
    throw new CommandError(`Cannot read ${file} (${reason}).`, { cause: error });
  }
}

/** First bytes of files that rotation compressed: gzip, bzip2, xz and zstd. */
const COMPRESSED = ["1f8b", "425a68", "fd377a58", "28b52ffd"];

/** @throws CommandError for a compressed file */
async function requireText(file: string): Promise<void> {
  const handle = await open(file);
  try {
    const { buffer, bytesRead } = await handle.read({ buffer: Buffer.alloc(4) });
    const start = buffer.subarray(0, bytesRead).toString("hex");
    if (COMPRESSED.some((magic) => start.startsWith(magic)))
      throw new CommandError(`${file} is compressed: decompress it first, for example with zcat or zstdcat.`);
  } finally {
    await handle.close();
  }
}
