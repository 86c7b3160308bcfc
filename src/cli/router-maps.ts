import { crc32 } from "node:zlib";

/** Buckets of wallets that have no exception; deploy/cells/haproxy.cfg counts them too. */
export const BUCKETS = 240;

export interface CellRoutes {
  readonly cell: number;
  readonly wallets: readonly { readonly wallet: string; readonly id: string }[];
  readonly movedKeys: readonly string[];
}

/** Lines of a map file, by key. */
export type RouterMap = ReadonlyMap<string, number>;

/** The bucket of a wallet, as HAProxy computes it: crc32, mod. */
export function bucketOf(wallet: string): number {
  return crc32(wallet) % BUCKETS;
}

/** Reads the lines of a map file; comments and empty lines are skipped. */
export function parseMap(text: string): RouterMap {
  const lines = text.split("\n").filter((line) => line.trim() !== "" && !line.startsWith("#"));
  return new Map(
    lines.map((line) => {
      const [key = "", cell] = line.trim().split(/\s+/);
      return [key, Number(cell)];
    }),
  );
}

export function formatMap(comment: string, map: RouterMap): string {
  return [`# ${comment}`, ...[...map].map(([key, cell]) => `${key} ${cell}`), ""].join("\n");
}

/**
 * Shares the buckets by weight. Buckets stay with their cell as far as its share allows, so that few wallets
 * without an account change their cell.
 */
export function shareBuckets(current: RouterMap, weights: ReadonlyMap<number, number>): RouterMap {
  const total = [...weights.values()].reduce((sum, weight) => sum + weight, 0);
  const exact = [...weights].map(([cell, weight]) => ({ cell, share: (weight * BUCKETS) / total }));
  const left = new Map(exact.map(({ cell, share }) => [cell, Math.floor(share)]));
  const given = [...left.values()].reduce((sum, share) => sum + share, 0);
  const byRest = exact.toSorted((a, b) => (b.share % 1) - (a.share % 1) || a.cell - b.cell);
  for (const { cell } of byRest.slice(0, BUCKETS - given)) left.set(cell, (left.get(cell) ?? 0) + 1);

  const shared = new Map<string, number>();
  const take = (cell: number, bucket: string) => {
    left.set(cell, (left.get(cell) ?? 0) - 1);
    shared.set(bucket, cell);
  };
  const buckets = Array.from({ length: BUCKETS }, (_, bucket) => String(bucket));
  for (const bucket of buckets) {
    const cell = current.get(bucket);
    if (cell !== undefined && (left.get(cell) ?? 0) > 0) take(cell, bucket);
  }
  for (const bucket of buckets.filter((one) => !shared.has(one))) {
    const [cell] = [...left].find(([, share]) => share > 0) ?? [];
    if (cell !== undefined) take(cell, bucket);
  }
  return new Map(buckets.map((bucket) => [bucket, shared.get(bucket) ?? 0]));
}

/**
 * The wallets whose account is in another cell than their bucket's. Of a wallet with accounts in several
 * cells, the oldest counts.
 */
export function walletExceptions(buckets: RouterMap, cells: readonly CellRoutes[]): RouterMap {
  const homes = new Map<string, { id: string; cell: number }>();
  for (const { cell, wallets } of cells) {
    for (const { wallet, id } of wallets) {
      const known = homes.get(wallet);
      if (!known || id < known.id) homes.set(wallet, { id, cell });
    }
  }
  return new Map(
    [...homes].flatMap(([wallet, { cell }]) =>
      buckets.get(String(bucketOf(wallet))) === cell ? [] : [[wallet, cell] as const],
    ),
  );
}

/** The cells of keys that another cell issued. */
export function keyExceptions(cells: readonly CellRoutes[]): RouterMap {
  return new Map(cells.flatMap(({ cell, movedKeys }) => movedKeys.map((hash) => [hash, cell] as const)));
}
