import { beforeEach, expect, it } from "vitest";
import { ChainLookupLimit, type LookupResult } from "../../../src/app/payments/chain-lookup-limit.ts";
import { ToolgateError } from "../../../src/domain/core/errors.ts";

let now: number;
let limit: ChainLookupLimit;
let refused: Record<string, number>;
let buyers: Set<string>;
let asked: string[];
beforeEach(() => {
  now = 1_000_000;
  refused = {};
  buyers = new Set();
  asked = [];
  const count = (_name: string, by = 1, labels: Readonly<Record<string, string>> = {}) => {
    refused[labels["limit"] ?? ""] = (refused[labels["limit"] ?? ""] ?? 0) + by;
  };
  limit = new ChainLookupLimit({ now: () => now }, { count }, async (accountId) => {
    asked.push(accountId);
    return buyers.has(accountId);
  });
});

/** Returns how many of `count` lookups run, sequentially or concurrently. */
async function looks(accountId: string, many: number, found: LookupResult): Promise<number> {
  let made = 0;
  for (let n = 0; n < many; n++)
    await limit
      .run(
        accountId,
        async () => void (made += 1),
        () => found,
      )
      .catch(() => undefined);
  return made;
}

const codeOf = (accountId: string) =>
  limit
    .run(
      accountId,
      async () => {},
      () => "nothing",
    )
    .then(
      () => "looked",
      (error: ToolgateError) => error.code,
    );

it("limits an account to a hundred failed lookups, then one every three seconds", async () => {
  expect(await looks("a", 130, "nothing")).toBe(100);
  expect(await codeOf("a")).toBe("RATE_LIMITED");
  expect(await looks("b", 1, "nothing")).toBe(1);
  now += 3_000;
  expect(await looks("a", 5, "nothing")).toBe(1);
  expect(refused).toEqual({ account: 35, instance: 0 });
});

it("counts running lookups as failed, so that a burst stays within the limit", async () => {
  const held = Promise.withResolvers<void>();
  let made = 0;
  const burst = Array.from({ length: 300 }, () =>
    limit.run(
      "a",
      async () => {
        made += 1;
        await held.promise;
      },
      () => "nothing",
    ),
  );
  expect(made).toBe(100);
  held.resolve();
  await Promise.allSettled(burst);
});

it("never limits successful lookups and outages", async () => {
  expect(await looks("a", 500, "payment")).toBe(500);
  expect(await looks("b", 500, "something")).toBe(500);
  let asked = 0;
  const outage = async () => {
    asked += 1;
    throw new ToolgateError("UNAVAILABLE", "out");
  };
  for (let n = 0; n < 300; n++) await limit.run("c", outage, () => "nothing").catch(() => undefined);
  expect(asked).toBe(300);
});

it("counts lookups whose caller disconnects", async () => {
  const away = () => Promise.reject(new Error("gone"));
  for (let n = 0; n < 100; n++) await limit.run("a", away, () => "nothing").catch(() => undefined);
  expect(await codeOf("a")).toBe("RATE_LIMITED");
});

it("shares one budget among accounts without a receipt, and none for accounts with one", async () => {
  await looks("customer", 1, "payment");
  let made = 0;
  for (let account = 0; account < 10; account++) made += await looks(`stranger ${account}`, 100, "nothing");
  expect(made).toBe(256);
  expect(await codeOf("another")).toBe("UNAVAILABLE");
  expect(await looks("customer", 50, "payment")).toBe(50);
  now += 1_000;
  expect(await looks("another", 50, "nothing")).toBe(10);
});

it("serves accounts with a receipt when strangers have used up the shared budget", async () => {
  buyers.add("customer of long ago");
  for (let account = 0; account < 10; account++) await looks(`stranger ${account}`, 40, "nothing");
  expect(await codeOf("another")).toBe("UNAVAILABLE");
  expect(await looks("customer of long ago", 50, "payment")).toBe(50);
  expect(asked.filter((accountId) => accountId === "customer of long ago")).toHaveLength(1);
  expect(await codeOf("another")).toBe("UNAVAILABLE");
  expect(asked.filter((accountId) => accountId === "another")).toHaveLength(1);
});
