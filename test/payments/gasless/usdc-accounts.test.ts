import { randomBytes } from "node:crypto";
import { expect, it } from "vitest";
import { UsdcAccounts } from "../../../src/payments/gasless/usdc-accounts.ts";

it("caches addresses that are no part of Node's buffer pool, which each would keep 64 KB of", () => {
  const accounts = new UsdcAccounts();
  const owner = randomBytes(32);
  expect(accounts.of(owner).buffer.byteLength).toBe(32);
  expect(accounts.of(owner)).toBe(accounts.of(Buffer.from(owner)));
});
