import { expect, it } from "vitest";
import { UNPAID_RATE, UnpaidAnswers } from "../../../src/transport/wallets/unpaid-answers.ts";

const from = (network: string) => ({ address: network, network, userAgent: "" });

it("limits the unpaid answers of an address, and gives back those of a sale", () => {
  const unpaid = new UnpaidAnswers({ now: () => 1_000 });
  const [one, other] = [from("192.0.2.1"), from("192.0.2.2")];
  for (let count = 0; count < UNPAID_RATE.burst; count++) unpaid.require(one);
  const refused = { code: "RATE_LIMITED", message: expect.stringMatching(/^too many unpaid requests/) };
  expect(() => unpaid.require(one)).toThrow(expect.objectContaining(refused));
  expect(unpaid.require(other).remaining).toBe(UNPAID_RATE.burst - 1);
  unpaid.paid(one);
  unpaid.require(one);
  unpaid.require(one);
  expect(() => unpaid.require(one)).toThrow(expect.objectContaining(refused));
});
