import { expect, it } from "vitest";
import { networkOf } from "../../../src/transport/remote-address.ts";
import { UNPAID_RATE, UnpaidAnswers } from "../../../src/transport/wallets/unpaid-answers.ts";

it("limits the networks of one IPv6 site together", () => {
  const unpaid = new UnpaidAnswers({ now: () => 1_000 });
  let answered = 0;
  const flood = (site: string) => {
    for (let net = 0; net < 20_000; net++) {
      unpaid.require(from(networkOf(`${site}:${net.toString(16)}::1`)));
      answered += 1;
    }
  };
  expect(() => flood("2001:db8:1")).toThrow(/^too many unpaid requests/);
  expect(answered).toBe(8 * UNPAID_RATE.burst);
  expect(() => unpaid.require(from(networkOf("2001:db8:2::1")))).not.toThrow();
});

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
