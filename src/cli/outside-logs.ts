import { createReadStream } from "node:fs";
import { createInterface } from "node:readline";
import { z } from "zod";
import { CommandError } from "./command-error.ts";

/** Charges per query. */
const PART = 5_000;

const operatorLine = z.discriminatedUnion("event", [
  z.object({ event: z.literal("key_revoked"), key_id: z.string(), at: z.string() }),
  z.object({
    event: z.literal("operator_action"),
    action_id: z.string(),
    at: z.string(),
    action: z.string(),
    target: z.string(),
    details: z.unknown(),
  }),
]);

const requestLine = z.object({
  event: z.literal("request"),
  receipt_id: z.string(),
  account_id: z.string().optional(),
  tool: z.string().optional(),
});

/** What logs outside the database know, by identifier. */
export interface OperatorLog {
  /** When each key was revoked. */
  readonly revoked: ReadonlyMap<string, string>;
  readonly actions: ReadonlyMap<string, { at: string; action: string; target: string; details: unknown }>;
}

/** Reads files of OPERATOR_LOG. @throws CommandError for a file that cannot be read */
export async function readOperatorLog(files: readonly string[]): Promise<OperatorLog> {
  const revoked = new Map<string, string>();
  const actions = new Map<string, { at: string; action: string; target: string; details: unknown }>();
  for (const file of files)
    for await (const line of linesOf(file)) {
      const { data } = operatorLine.safeParse(line);
      if (data?.event === "key_revoked") {
        // A replaced key may still work for a while.
        if (Date.parse(data.at) <= Date.now()) revoked.set(data.key_id, data.at);
      } else if (data) actions.set(data.action_id, data);
    }
  return { revoked, actions };
}

type Charges = ReadonlyMap<string, z.output<typeof requestLine>>;

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
  yield part;
}

/** JSON values of a file's lines; other lines are skipped. */
async function* linesOf(file: string): AsyncGenerator {
  try {
    for await (const line of createInterface({ input: createReadStream(file), crlfDelay: Infinity })) {
      const start = line.indexOf("{");
      const value = start < 0 ? undefined : parse(line.slice(start));
      if (value !== undefined) yield value;
    }
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    throw new CommandError(`Cannot read ${file} (${reason}).`, { cause: error });
  }
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
