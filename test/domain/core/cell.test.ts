import { randomBytes } from "node:crypto";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { newApiKey, parseApiKey } from "../../../src/domain/accounts/api-key.ts";
import { SealedNonces } from "../../../src/domain/accounts/sealed-nonce.ts";
import { cellOf, cellOfId, newId, reportUnknownId } from "../../../src/domain/core/ids.ts";
import { otherCellIn } from "../../../src/domain/payments/memo.ts";
import { cellOfQuote, Quotes } from "../../../src/domain/payments/quote.ts";
import { systemClock, systemRandom } from "../../../src/system.ts";

const key = { version: 1, secret: randomBytes(32) };
// Every cell has the same secrets here, as after a restore of another cell's backup.
const keys = { current: () => key, version: () => key };
const account = newId("acct", systemClock, systemRandom);
const cells = fc.integer({ min: 1, max: 65_535 });

function quotesOf(number: number) {
  const seen: [string, number][] = [];
  const cell = cellOf(number, (name, named) => seen.push([name, named]));
  const quotes = new Quotes(keys, systemClock, systemRandom, 300, cell);
  return { seen, quotes, issue: () => quotes.issue(account, 7n, Buffer.alloc(32, 1)) };
}

describe("a quote of a cell", () => {
  it("opens in its cell only, also where the secrets are the same", async () => {
    const [two, three] = [quotesOf(2), quotesOf(3)];
    const issued = two.issue();
    expect(two.quotes.open(issued.quoteId)).toEqual(issued);
    expect(three.quotes.open(issued.quoteId)).toBeUndefined();
    expect(await three.quotes.find(issued.quoteId)).toBeUndefined();
    expect(three.seen).toEqual([
      ["quote", 2],
      ["quote", 2],
    ]);
    expect(two.seen).toEqual([]);
  });

  it("opens after the deployment became a cell", () => {
    const before = quotesOf(0).issue();
    expect(quotesOf(4).quotes.open(before.quoteId)).toEqual(before);
  });

  it("is refused by a deployment without cells", () => {
    expect(quotesOf(0).quotes.open(quotesOf(4).issue().quoteId)).toBeUndefined();
  });

  it("does not open when its cell is changed", () => {
    const { quoteId } = quotesOf(2).issue();
    const alphabet = "123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz";
    const changed = Array.from(alphabet, (end) => quoteId.slice(0, -1) + end).filter((id) => id !== quoteId);
    // Each at a deployment of the cell that its text names.
    const opened = changed.map((id) => quotesOf(cellOfQuote(id)).quotes.open(id));
    expect(opened.filter((quote) => quote !== undefined)).toEqual([]);
  });
});

it("writes any cell into quotes, keys and identifiers", () => {
  fc.assert(
    fc.property(cells, (number) => {
      expect(cellOfQuote(quotesOf(number).issue().quoteId)).toBe(number);
      expect(parseApiKey(newApiKey(key, systemRandom, number))?.cell).toBe(number);
      const id = newId("run", systemClock, systemRandom, number);
      expect(id.slice(-4)).toBe(number.toString(16).padStart(4, "0"));
      expect(cellOfId("run", id)).toBe(number);
    }),
  );
});

it("accepts the nonce of a sign-in in its cell only", async () => {
  const of = (number: number) => new SealedNonces(keys, systemClock, systemRandom, cellOf(number));
  const { nonce, issuedAt } = of(2).issue();
  expect(await of(2).open(nonce)).toBe(issuedAt);
  expect(await of(3).open(nonce)).toBeUndefined();
  expect(await of(5).open(of(0).issue().nonce)).toBeTypeOf("number");
});

it("names the other cell of a transfer's memo", () => {
  const { quoteId } = quotesOf(2).issue();
  const depositId = newId("dep", systemClock, systemRandom, 2);
  for (const memo of [`svc:${quoteId}`, `step_1:${quoteId}:n`, `svc:${depositId}`]) {
    expect(otherCellIn(`[95] ${memo}`, 3), memo).toBe(2);
    expect(otherCellIn(memo, 2), memo).toBeUndefined();
  }
  // The end of an identifier means nothing without cells.
  expect(otherCellIn(`svc:${depositId}`, 0)).toBeUndefined();
  expect(otherCellIn("hello", 3)).toBeUndefined();
});

it("reports an unknown identifier that another cell issued", () => {
  const seen: unknown[] = [];
  const report = (...named: unknown[]) => seen.push(named);
  const id = newId("rcpt", systemClock, systemRandom, 2);
  for (const own of [0, 2, 3]) reportUnknownId(cellOf(own, report), "receipt", "rcpt", id);
  expect(seen).toEqual([["receipt", 2]]);
});
