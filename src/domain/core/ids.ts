import type { Clock, Random } from "./clock.ts";

/** Prefixes of identifiers. Identifiers contain no colon, because memos are split at colons. */
export type IdPrefix = "acct" | "key" | "run" | "rcpt" | "ses" | "dep" | "act" | "log" | "grp" | "we" | "evt";

const HEX = /^[0-9a-f]{32}$/;

/**
 * Returns a new identifier: prefix and UUIDv7 (RFC 9562 section 5.7) in hex, sortable by time. The last four
 * digits are the number of the cell, if there are cells.
 */
export function newId(prefix: IdPrefix, clock: Clock, random: Random, cell = 0): string {
  const bytes = random.bytes(16);
  const time = clock.now();
  bytes[0] = Math.floor(time / 2 ** 40);
  bytes[1] = Math.floor(time / 2 ** 32);
  bytes[2] = Math.floor(time / 2 ** 24);
  bytes[3] = Math.floor(time / 2 ** 16);
  bytes[4] = Math.floor(time / 2 ** 8);
  bytes[5] = time;
  bytes[6] = 0x70 | ((bytes[6] ?? 0) & 0x0f);
  bytes[8] = 0x80 | ((bytes[8] ?? 0) & 0x3f);
  if (cell !== 0) [bytes[14], bytes[15]] = [cell >> 8, cell];
  return idOf(prefix, bytes);
}

/** Formats 16 bytes, e.g. `run_0199…`. */
export function idOf(prefix: IdPrefix, uuid: Uint8Array): string {
  return `${prefix}_${Buffer.from(uuid).toString("hex")}`;
}

/** Returns the UUID of an identifier, 32 hex digits; undefined for any other text. */
export function uuidOf(prefix: IdPrefix, id: string): string | undefined {
  if (!id.startsWith(`${prefix}_`)) return undefined;
  const hex = id.slice(prefix.length + 1);
  return HEX.test(hex) ? hex : undefined;
}

/** Returns the cell in an identifier of a deployment with cells; 0 for any other text. */
export function cellOfId(prefix: IdPrefix, id: string): number {
  const uuid = uuidOf(prefix, id);
  return uuid === undefined ? 0 : Number.parseInt(uuid.slice(-4), 16);
}

/** Reports an identifier that is unknown here because another cell issued it. */
export function reportUnknownId(cell: Cell, name: NameKind, prefix: IdPrefix, id: string): void {
  if (cell.number !== 0) cell.isForeign(name, cellOfId(prefix, id));
}

/** A deployment among several that share one address; names carry its number. */
export interface Cell {
  /** 1 to 65535; 0: the only deployment. */
  readonly number: number;
  /**
   * Whether another cell issued a name, which must then be refused; reports it. Names without a cell (0) are
   * from before a deployment became one.
   */
  isForeign(name: NameKind, named: number): boolean;
}

type NameKind = "account" | "api_key" | "deposit" | "quote" | "receipt" | "run" | "session" | "sign_in";

/** @param report receives each foreign name */
export function cellOf(number: number, report: (name: NameKind, cell: number) => void = () => {}): Cell {
  return {
    number,
    isForeign(name, named) {
      if (named === 0 || named === number) return false;
      report(name, named);
      return true;
    },
  };
}

export const NO_CELL = cellOf(0);
