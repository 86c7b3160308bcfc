import { decodePaymentRequiredHeader, decodePaymentResponseHeader } from "@x402/core/http";
import { parsePaymentRequired } from "@x402/core/schemas";
import { afterAll, beforeAll, expect, it } from "vitest";
import { useWorld } from "../support/use-world.ts";
import { startReferenceServer, type ReferenceServer } from "./x402-reference.ts";
import { SLOT_MS, x402Payer, type Payload, type X402Payer } from "./x402-payer.ts";

/** The same requests to `POST /x402/{tool}` and to the resource server of `@x402/core`. */

const PATH = "/x402/vram_estimate";
const BODY = JSON.stringify({ model: "llama-3.1-8b" });

const world = useWorld({}, SLOT_MS);
let payer: X402Payer;
let reference: ReferenceServer;

beforeAll(async () => {
  payer = await x402Payer(world);
  const { accepts, resource } = await offerOf(world.gateway.baseUrl);
  const [terms] = accepts;
  if (!terms) throw new Error("no offer");
  const { network, amount, asset, payTo, extra } = terms;
  reference = await startReferenceServer({
    path: PATH,
    description: resource.description ?? "",
    ...{ network, amount, asset, payTo },
    feePayer: String(extra["feePayer"]),
    payer: payer.wallet.publicKey.toBase58(),
  });
});
afterAll(async () => {
  reference.close();
});

const post = (baseUrl: string, headers: Record<string, string> = {}) =>
  fetch(baseUrl + PATH, {
    method: "POST",
    body: BODY,
    headers: { "Content-Type": "application/json", ...headers },
  });

async function offerOf(baseUrl: string) {
  const response = await post(baseUrl);
  expect(response.status).toBe(402);
  expect(response.headers.get("content-type")).toMatch(/^application\/json/);
  return decodePaymentRequiredHeader(response.headers.get("payment-required") ?? "");
}

/** Sends a payment for a server's own offer. */
async function pay(baseUrl: string, change?: (payload: Payload) => void) {
  const offered = (await post(baseUrl)).headers.get("payment-required") ?? "";
  return answerOf(await post(baseUrl, { "PAYMENT-SIGNATURE": await payer.sign(offered, change) }));
}

function answerOf({ status, headers }: Response) {
  const settlement = headers.get("payment-response");
  return {
    status,
    offer: headers.get("payment-required") !== null,
    settlement: settlement === null ? undefined : decodePaymentResponseHeader(settlement),
  };
}

const both = async <Answer>(ask: (baseUrl: string) => Promise<Answer>) => ({
  ours: await ask(world.gateway.baseUrl),
  theirs: await ask(reference.baseUrl),
});

it("offers the same terms in the same header", async () => {
  const { ours, theirs } = await both(offerOf);
  for (const offer of [ours, theirs]) expect(parsePaymentRequired(offer).success).toBe(true);
  const fixed = ({ x402Version, resource, accepts }: typeof ours) => ({
    x402Version,
    resource: { description: resource.description, mimeType: resource.mimeType },
    path: new URL(resource.url).pathname,
    accepts: accepts.map(({ extra, ...terms }) => ({ ...terms, feePayer: extra["feePayer"] })),
  });
  expect(fixed(ours)).toEqual(fixed(theirs));
  expect(Object.keys(theirs).filter((name) => !(name in ours))).toEqual([]);
});

it("reports a settled payment in the same header", async () => {
  const { ours, theirs } = await both((baseUrl) => pay(baseUrl));
  for (const { status, offer, settlement } of [ours, theirs]) {
    expect({ status, offer }).toEqual({ status: 200, offer: false });
    expect(settlement).toMatchObject({
      success: true,
      transaction: expect.stringMatching(/^[1-9A-HJ-NP-Za-km-z]{64,88}$/),
      network: "solana:5eykt4UsFv8P8NJdTREpY1vzqKqZKvdp",
    });
  }
});

it("refuses changed terms with 402; ours repeats no offer", async () => {
  const cheaper = (payload: Payload) => {
    payload.accepted = { ...payload.accepted, amount: "1" };
  };
  const { ours, theirs } = await both((baseUrl) => pay(baseUrl, cheaper));
  expect(theirs).toMatchObject({ status: 402, offer: true });
  expect(ours).toMatchObject({ status: 402, offer: false, settlement: { success: false } });
});

it("answers a malformed payment with 400 and no offer; theirs is 402 with one", async () => {
  const answers = await both(async (baseUrl) =>
    answerOf(await post(baseUrl, { "PAYMENT-SIGNATURE": "not base64!" })),
  );
  expect(answers.theirs).toMatchObject({ status: 402, offer: true });
  expect(answers.ours).toMatchObject({ status: 400, offer: false });
});

it("reports a failed settlement with 402 and `success: false`", async () => {
  reference.failure = "transaction_failed";
  const theirs = await pay(reference.baseUrl);
  const empty = await x402Payer(world, 2, 0n);
  const offered = (await post(world.gateway.baseUrl)).headers.get("payment-required") ?? "";
  const signed = await empty.sign(offered);
  const ours = answerOf(await post(world.gateway.baseUrl, { "PAYMENT-SIGNATURE": signed }));
  for (const { status, settlement } of [ours, theirs]) {
    expect(status).toBe(402);
    expect(settlement).toMatchObject({
      success: false,
      transaction: "",
      network: "solana:5eykt4UsFv8P8NJdTREpY1vzqKqZKvdp",
      errorReason: expect.any(String),
    });
  }
});
