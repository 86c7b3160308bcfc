import { appendFileSync, existsSync, mkdirSync, readFileSync, truncateSync } from "node:fs";
import { join } from "node:path";
import type { Chain } from "./engine.ts";
import { isObject } from "./json.ts";
import { decodeTransaction } from "./wire-transaction.ts";

const FILE = "chain.jsonl";

/** One line of the journal: where the chain starts, a transaction that landed, or one that was forked out. */
type Entry =
  | { readonly genesis: string }
  | { readonly transaction: string; readonly slot: number; readonly time: number; readonly rooted: boolean }
  | { readonly drop: string };

/**
 * Stores the chain in a file. Every change is a transaction, so the transactions in order restore the chain.
 * Replays the file, then appends new ones. Lines are written without fsync: they survive the process, not
 * the machine.
 *
 * @param slotMs slot time, to advance by as many slots as the pause lasted; 0 for none
 * @throws Error if the folder holds the journal of another chain, or an unreadable one
 */
export function keepJournal(chain: Chain, folder: string, slotMs: number): void {
  mkdirSync(folder, { recursive: true });
  const file = join(folder, FILE);
  const append = (entry: Entry): void => appendFileSync(file, `${JSON.stringify(entry)}\n`);
  if (existsSync(file)) restore(chain, file, slotMs);
  else append({ genesis: chain.genesisHash });
  chain.listen({
    onTransaction: ({ transaction, slot, blockTime, rooted }) =>
      append({
        transaction: Buffer.from(transaction.bytes).toString("base64"),
        slot,
        time: blockTime,
        rooted,
      }),
    onDrop: (signature) => append({ drop: signature }),
  });
}

function restore(chain: Chain, file: string, slotMs: number): void {
  const text = readFileSync(file, "utf8");
  // A process that was killed while it wrote leaves half a line: its transaction was never acknowledged.
  const complete = text.slice(0, text.lastIndexOf("\n") + 1);
  if (complete.length < text.length) truncateSync(file, Buffer.byteLength(complete));
  let lastTime = 0;
  for (const line of complete.split("\n").slice(0, -1)) {
    const entry = parseEntry(line);
    if ("genesis" in entry) {
      if (entry.genesis !== chain.genesisHash)
        throw new Error(`${file} belongs to the chain ${entry.genesis}`);
    } else if ("drop" in entry) {
      chain.drop(entry.drop);
    } else {
      const { slot, time, rooted } = entry;
      lastTime = time;
      chain.replay(decodeTransaction(Buffer.from(entry.transaction, "base64")), {
        slot,
        blockTime: time,
        rooted,
      });
    }
  }
  const pauseMs = Math.max(0, chain.slots.unixSeconds() - lastTime) * 1000;
  chain.advance(slotMs > 0 && lastTime > 0 ? 1 + Math.floor(pauseMs / slotMs) : 1);
}

function parseEntry(line: string): Entry {
  const entry: unknown = JSON.parse(line);
  if (isObject(entry)) {
    const { genesis, drop, transaction, slot, time, rooted } = entry;
    if (typeof genesis === "string") return { genesis };
    if (typeof drop === "string") return { drop };
    if (typeof transaction === "string" && typeof slot === "number" && typeof time === "number") {
      return { transaction, slot, time, rooted: rooted === true };
    }
  }
  throw new Error(`not a journal entry: ${line.slice(0, 80)}`);
}
