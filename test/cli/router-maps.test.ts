import { describe, expect, it } from "vitest";
import {
  BUCKETS,
  bucketOf,
  formatMap,
  keyExceptions,
  parseMap,
  shareBuckets,
  walletExceptions,
} from "../../src/cli/router-maps.ts";

const cellsOf = (map: ReadonlyMap<string, number>) => {
  const cells = new Map<number, number>();
  for (const cell of map.values()) cells.set(cell, (cells.get(cell) ?? 0) + 1);
  return Object.fromEntries(cells);
};
const weights = (...shares: number[]) => new Map(shares.map((share, at) => [at + 1, share]));

describe("the router's maps", () => {
  it("share all buckets by weight", () => {
    expect(cellsOf(shareBuckets(new Map(), weights(1, 1, 1)))).toEqual({ 1: 80, 2: 80, 3: 80 });
    expect(cellsOf(shareBuckets(new Map(), weights(2, 1, 0)))).toEqual({ 1: 160, 2: 80 });
    expect(cellsOf(shareBuckets(new Map(), weights(1, 1, 1, 1, 1, 1, 1)))).toEqual({
      ...{ 1: 35, 2: 35, 3: 34, 4: 34, 5: 34, 6: 34, 7: 34 },
    });
  });

  it("move no bucket of a cell that keeps its share", () => {
    const before = shareBuckets(new Map(), weights(1, 1, 1));
    const after = shareBuckets(before, weights(1, 1, 0));
    const moved = [...before].filter(([bucket, cell]) => after.get(bucket) !== cell);
    expect(moved.every(([, cell]) => cell === 3)).toBe(true);
    expect(moved).toHaveLength(BUCKETS / 3);
  });

  it("except wallets whose account is elsewhere, by their oldest account", () => {
    const buckets = shareBuckets(new Map(), weights(1, 1));
    const wallet = "9xQeWvG816bUx9EPjHmaT23yvVM2ZWbrrpZb9PusVFin";
    const home = buckets.get(String(bucketOf(wallet))) ?? 0;
    const other = 3 - home;
    const routes = (cell: number, id: string) => ({ cell, wallets: [{ wallet, id }], movedKeys: [] });
    expect(walletExceptions(buckets, [routes(home, "01")])).toEqual(new Map());
    expect(walletExceptions(buckets, [routes(other, "01")])).toEqual(new Map([[wallet, other]]));
    expect(walletExceptions(buckets, [routes(home, "02"), routes(other, "01")])).toEqual(
      new Map([[wallet, other]]),
    );
    expect(walletExceptions(buckets, [routes(home, "01"), routes(other, "02")])).toEqual(new Map());
  });

  it("are read as they are written", () => {
    const map = keyExceptions([
      { cell: 2, wallets: [], movedKeys: ["aa", "bb"] },
      { cell: 3, wallets: [], movedKeys: ["cc"] },
    ]);
    expect(parseMap(formatMap("comment", map))).toEqual(map);
  });
});
