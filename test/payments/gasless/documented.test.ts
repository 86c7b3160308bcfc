import { readdirSync, readFileSync } from "node:fs";
import path from "node:path";
import { expect, it } from "vitest";
import { RELAY_REFUSALS } from "../../../src/domain/payments/relay-refusal.ts";
import {
  feeOf,
  GUARD_UNITS,
  MAX_UNIT_PRICE,
  MAX_GUARDS,
  MAX_UNITS,
  PAID_UNITS,
} from "../../../src/payments/gasless/layout.ts";

/** Compares docs/reference/gasless.md with the reasons and limits in the code. */
const page = readFileSync("docs/reference/gasless.md", "utf8");
const rows = [...page.matchAll(/^- `([a-z_]+)`: /gm)];

it("gasless.md lists exactly the refusal reasons, in the order of the checks", () => {
  expect(rows.map(([, reason]) => reason)).toEqual(Object.values(RELAY_REFUSALS));
});

it("gasless.md gives status 400 to unreadable transactions only", () => {
  const unreadable = ["transaction_too_large", "transaction_malformed", "transaction_version"];
  expect(rows.slice(0, 3).map(([, reason]) => reason)).toEqual(unreadable);
  expect(page).toContain("The status is 402, of the first three 400.");
});

it("every refusal reason is used in src and tested", () => {
  const sources = textOf("src/payments/gasless") + textOf("src/app");
  const tests = textOf("test/payments/gasless", "documented.test.ts") + textOf("test/app");
  for (const [name, reason] of Object.entries(RELAY_REFUSALS)) {
    expect(sources.includes(`RELAY_REFUSALS.${name}`) || sources.includes(`"${reason}"`), name).toBe(true);
    expect(
      tests.includes(`"${reason}"`) || tests.includes(`(${reason}`) || tests.includes(`\\(${reason}`),
      name,
    ).toBe(true);
  }
});

it("gasless.md names the limits in force", () => {
  const most = feeOf({ units: PAID_UNITS + MAX_GUARDS * GUARD_UNITS, price: MAX_UNIT_PRICE });
  const number = (value: number | bigint) => value.toLocaleString("en-US");
  for (const limit of [MAX_UNITS, PAID_UNITS, GUARD_UNITS, MAX_UNIT_PRICE, most])
    expect(page).toContain(number(limit));
  expect(page).toContain(`at most ${MAX_GUARDS} Lighthouse instructions`);
  expect(page).toContain(`at most ${number(most)} lamports`);
});

function textOf(folder: string, except = ""): string {
  const names = readdirSync(folder, { recursive: true, encoding: "utf8" });
  const files = names.filter((name) => name.endsWith(".ts") && path.basename(name) !== except);
  return files.map((name) => readFileSync(path.join(folder, name), "utf8")).join("\n");
}
