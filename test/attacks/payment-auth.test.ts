import { Challenge, Credential, PaymentRequest } from "mppx";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { mppPayer, withApiKey, type MppPayer } from "../interop/mpp-payer.ts";
import { SLOT_MS, x402Payer } from "../interop/x402-payer.ts";
import { boundParameters } from "../../src/domain/payments/payment-auth.ts";
import { Quotes } from "../../src/domain/payments/quote.ts";
import type { Gateway } from "../../src/gateway.ts";
import { systemRandom } from "../../src/system.ts";
import { MODERN } from "../contract/mcp-client.ts";
import { request, type Agent, type Answer } from "../support/world.ts";
import {
  buyer,
  expectRefused,
  OTHER_PARAMS,
  PARAMS,
  pastOffer,
  PRICE,
  useScene,
  type Buyer,
  TOOL,
  USED,
} from "./scene.ts";

/** Attacks on credentials of the scheme `Payment`. */

const world = useScene({ GASLESS_FAILURES_HOURLY: "1000" }, SLOT_MS);
const CALL = JSON.stringify({ tool: TOOL, params: PARAMS });
const KEYED = "/v1/mcp/tools/call";
const SOLD = `/x402/${TOOL}`;
let by: Buyer;
let payer: MppPayer;

beforeAll(async () => {
  payer = await mppPayer(world);
});

type Wire = { challenge: Record<string, unknown>; payload: Record<string, unknown> };
type Change = (wire: Wire) => void;

const decoded = (credential: string): Wire =>
  JSON.parse(Buffer.from(credential.replace(/^Payment /, ""), "base64url").toString());

function changed(credential: string, change: Change): string {
  const wire = decoded(credential);
  change(wire);
  return `Payment ${Buffer.from(JSON.stringify(wire)).toString("base64url")}`;
}

/** Changes the request inside a challenge, as a client that pays less would. */
const inRequest = (change: (request: Record<string, unknown>) => void): Change => {
  return ({ challenge }) => {
    const request = JSON.parse(Buffer.from(String(challenge["request"]), "base64url").toString());
    change(request);
    challenge["request"] = PaymentRequest.serialize(request);
  };
};

interface Where {
  readonly gateway?: Pick<Gateway, "baseUrl">;
  readonly agent?: Agent | undefined;
  readonly path?: string;
  readonly body?: string;
}

function send(authorization: string | undefined, where: Where = {}): Promise<Answer> {
  const {
    gateway = world.gateway,
    path = KEYED,
    body = path === SOLD ? JSON.stringify(PARAMS) : CALL,
  } = where;
  const { agent = path === SOLD ? undefined : by.agent } = where;
  const headers = {
    ...(authorization !== undefined && { Authorization: authorization }),
    ...(agent && { "X-API-Key": agent.apiKey }),
  };
  return request(gateway, undefined, path, { method: "POST", body }, headers);
}

/** A 402's challenge. */
async function challenged(where: Where = {}): Promise<string> {
  const { status, headers, body } = await send(undefined, where);
  expect(status, JSON.stringify(body)).toBe(402);
  return headers.get("www-authenticate") ?? "";
}

/** A refused credential gets no challenge that a client would pay next. */
function expectNoChallenge(answer: Answer): void {
  for (const name of ["www-authenticate", "payment-required", "payment-receipt"])
    expect(answer.headers.get(name)).toBeNull();
}

describe("a credential changed in transit", () => {
  let truth: string;
  let before: bigint;
  beforeAll(async () => {
    by = await buyer(world);
    truth = await payer.credential(await challenged());
    before = await payer.usdc();
  });
  /** Failed attempts cost nothing, and a true credential buys the call once. */
  afterAll(async () => {
    expect(await payer.usdc()).toBe(before);
    await by.expectNothing();
    truth = await payer.credential(await challenged());
    const first = await send(truth);
    expect(first.status, JSON.stringify(first.body)).toBe(200);
    const again = await send(truth);
    expect(again.body).toEqual(first.body);
    expect(again.headers.get("payment-receipt")).toBe(first.headers.get("payment-receipt"));
    expect(await payer.usdc()).toBe(before - PRICE);
    await by.expectOneCall();
  });

  it.each<[string, Change]>([
    ["id", ({ challenge }) => (challenge["id"] = "A".repeat(43))],
    ["realm", ({ challenge }) => (challenge["realm"] = "elsewhere.example")],
    ["expiry", ({ challenge }) => (challenge["expires"] = "2099-01-01T00:00:00.000Z")],
    ["expiry left out", ({ challenge }) => delete challenge["expires"]],
    ["digest of another body", ({ challenge }) => (challenge["digest"] = `sha-256=:${"A".repeat(43)}=:`)],
    ["digest left out", ({ challenge }) => delete challenge["digest"]],
    ["amount", inRequest((asked) => (asked["amount"] = "1"))],
    ["recipient", inRequest((asked) => (asked["recipient"] = payer.wallet.publicKey.toBase58()))],
    ["memo", inRequest((asked) => delete asked["externalId"])],
  ])("is refused with another %s", async (_what, change) => {
    const answer = await send(changed(truth, change));
    expectRefused(answer, /the challenge was not issued by this gateway, or was changed/);
    expectNoChallenge(answer);
  });

  it("is refused when its quote is another one of the account", async () => {
    const other = Challenge.deserialize(await challenged());
    const rebound = changed(truth, ({ challenge }) => (challenge["opaque"] = other.opaque));
    expectRefused(
      await send(rebound),
      /quote_id is not the one in the transaction's memo/,
      "INVALID_PAYMENT",
      400,
    );
    const swapped = changed(truth, (wire) => {
      wire.challenge = decoded(Credential.serialize({ challenge: other, payload: {} })).challenge;
    });
    expectRefused(
      await send(swapped),
      /quote_id is not the one in the transaction's memo/,
      "INVALID_PAYMENT",
      400,
    );
  });

  it.each<[string, Change, RegExp]>([
    [
      "a split",
      inRequest((asked) => Object.assign(asked["methodDetails"] as object, { splits: [] })),
      /splits: split/,
    ],
    [
      "confidentiality",
      inRequest((asked) => Object.assign(asked["methodDetails"] as object, { confidential: true })),
      /confidential: split and confidential/,
    ],
    ["a bundle", ({ payload }) => (payload["type"] = "bundle"), /payload\.type: split and confidential/],
    ["an unknown payload", ({ payload }) => (payload["type"] = "voucher"), /no payment method takes this/],
    ["another method", ({ challenge }) => (challenge["method"] = "tempo"), /no payment method takes this/],
    ["another intent", ({ challenge }) => (challenge["intent"] = "session"), /no payment method takes this/],
    ["no transaction", ({ payload }) => delete payload["transaction"], /payload\.transaction is missing/],
    ["no opaque", ({ challenge }) => delete challenge["opaque"], /opaque: names no quote_id/],
  ])("is refused by name with %s", async (_what, change, message) => {
    expectRefused(await send(changed(truth, change)), message, "INVALID_PAYMENT", 400);
  });

  it("is refused when it is cut off anywhere", async () => {
    for (let length = 12; length < truth.length - 2; length += 97) {
      const answer = await send(truth.slice(0, length));
      expectRefused(answer, /^Authorization: Payment/, "INVALID_PAYMENT", 400);
    }
  });

  it("is refused for another account, another body, other params and at another endpoint", async () => {
    const stranger = await world.agent();
    expectRefused(await send(truth, { agent: stranger }), /the quote was issued to another account/);
    const spaced = JSON.stringify({ tool: TOOL, params: PARAMS }, null, 1);
    expectRefused(await send(truth, { body: spaced }), /the challenge was issued for another body/);
    const other = JSON.stringify({ tool: TOOL, params: OTHER_PARAMS });
    expectRefused(await send(truth, { body: other }), /the challenge was issued for another body/);
    expectRefused(await send(truth, { path: SOLD }), /the challenge was issued for another body/);
    const free = await payer.credential(await challenged({ path: "/mcp" }));
    expectRefused(await send(free, { body: other }), /the challenge was issued for another body/);
    expectNoChallenge(await send(free, { agent: stranger, path: "/mcp" }));
  });

  it("is refused without the key at endpoints that need one", async () => {
    const answer = await request(
      world.gateway,
      undefined,
      KEYED,
      { method: "POST", body: CALL },
      {
        Authorization: truth,
      },
    );
    expect(answer).toMatchObject({ status: 401, body: { code: "UNAUTHORIZED" } });
  });

  it("is refused beside another payment", async () => {
    const x402 = await x402Payer(world);
    const { headers } = await send(undefined);
    const signature = await x402.sign(headers.get("payment-required") ?? "");
    const answer = await request(
      world.gateway,
      undefined,
      KEYED,
      { method: "POST", body: CALL },
      {
        Authorization: truth,
        "X-API-Key": by.agent.apiKey,
        "PAYMENT-SIGNATURE": signature,
      },
    );
    expectRefused(answer, /name different payments; send one of them/, "INVALID_PAYMENT", 400);
  });
});

describe("a credential of a wallet without a key", () => {
  it("shows by its id that the wallet got the challenge, and buys once", async () => {
    const wallet = await mppPayer(world);
    const truth = await payer.credential(await challenged({ path: SOLD }));
    const forged = changed(truth, ({ challenge }) => (challenge["id"] = "A".repeat(43)));
    expectRefused(await send(forged, { path: SOLD }), /the challenge was not issued/);
    by = await buyer(world);
    expectRefused(await send(truth), /the challenge was issued for another body/);
    const first = await send(truth, { path: SOLD });
    expect(first.status, JSON.stringify(first.body)).toBe(200);
    expect((await send(truth, { path: SOLD })).body).toEqual(first.body);
    expect(await wallet.usdc()).toBe(1_000_000n);
  });

  it("cannot be of a transaction that is sent already", async () => {
    const sender = await mppPayer(world, true);
    const truth = await payer.credential(await challenged({ path: SOLD }));
    const pushed = changed(
      truth,
      (wire) => (wire.payload = { type: "signature", signature: "1".repeat(64) }),
    );
    expectRefused(
      await send(pushed, { path: SOLD }),
      /a transfer that you sent pays calls with an API key/,
      "INVALID_PAYMENT",
      400,
    );
    expect(await sender.usdc()).toBe(1_000_000n);
  });
});

describe("a credential that pays by its own transaction", () => {
  const pushed = (challenge: string, signature: string) =>
    Credential.serialize({
      challenge: Challenge.deserialize(challenge),
      payload: { type: "signature", signature },
    });

  it("buys the call once, also beside a fee payer", async () => {
    by = await buyer(world);
    const challenge = await challenged();
    const { externalId } = Challenge.deserialize(challenge).request as { externalId: string };
    const tx = await by.pay(PRICE, externalId);
    const first = await send(pushed(challenge, tx));
    expect(first.status, JSON.stringify(first.body)).toBe(200);
    expect((await send(pushed(challenge, tx))).body).toEqual(first.body);
    expectRefused(await send(pushed(await challenged(), tx)), USED);
    await by.expectOneCall();
  });

  it.each<[string, (memo: string) => [bigint, string], RegExp]>([
    ["less than the price", (memo) => [PRICE - 1n, memo], /was sent, the price is/],
    ["another quote", () => [PRICE, by.offer.memo], /the memo on the chain names another quote/],
    ["a foreign memo", () => [PRICE, "thank you"], /memo/],
  ])("is refused for a transfer of %s", async (_what, payment, message) => {
    by = await buyer(world);
    const challenge = await challenged();
    const { externalId } = Challenge.deserialize(challenge).request as { externalId: string };
    const tx = await by.pay(...payment(externalId));
    expectRefused(await send(pushed(challenge, tx)), message);
  });
});

describe("the mppx client", () => {
  it("stops and pays nothing when its funds are insufficient", async () => {
    by = await buyer(world);
    const poor = await mppPayer(world, false, PRICE - 1n);
    const init = { method: "POST", body: CALL, headers: { "Content-Type": "application/json" } };
    const response = await withApiKey(by.agent, poor.fetch)(world.gateway.baseUrl + KEYED, init);
    expect(response.status).toBe(402);
    expect(JSON.parse(await response.text()).code).toBe("INVALID_PAYMENT");
    expect(response.headers.get("www-authenticate")).toBeNull();
    expect(await poor.usdc()).toBe(PRICE - 1n);
    await by.expectNothing();
  });
});

describe("a credential and time", () => {
  it("is refused when its quote has expired, and nothing is sent", async () => {
    by = await buyer(world);
    const before = await payer.usdc();
    const { quoteId } = pastOffer(world.postgres.sealingKeys, by.agent, 301);
    const quotes = new Quotes(world.postgres.sealingKeys, Date, systemRandom, 300);
    const fresh = Challenge.deserialize(await challenged());
    const asked = { ...fresh.request, externalId: `svc:${quoteId}` };
    const wire = {
      ...fresh,
      request: PaymentRequest.serialize(asked),
      expires: new Date(quotes.open(quoteId)?.expiresAt ?? 0).toISOString(),
      digest: fresh.digest,
      opaque: PaymentRequest.serialize({ quote_id: quoteId }),
    };
    const id = quotes.challengeId({ quoteId }, boundParameters(wire));
    const truth = await payer.credential(Challenge.serialize({ ...wire, id, request: asked }));
    expectRefused(await send(truth), /the quote has expired/, "QUOTE_EXPIRED");
    expect(await payer.usdc()).toBe(before);
  });
});

describe("a refused credential at /mcp", () => {
  it("has the codes of the scheme for clients that announce it", async () => {
    by = await buyer(world);
    const truth = await payer.credential(await challenged({ path: "/mcp" }));
    const answerTo = (change: Change) => {
      const meta = {
        "org.paymentauth/credential": decoded(changed(truth, change)),
        "io.modelcontextprotocol/protocolVersion": MODERN,
        "io.modelcontextprotocol/clientCapabilities": { experimental: { payment: {} } },
      };
      const params = { name: TOOL, arguments: PARAMS, _meta: meta };
      const headers = { "MCP-Protocol-Version": MODERN, "Mcp-Method": "tools/call", "Mcp-Name": TOOL };
      const body = JSON.stringify({ jsonrpc: "2.0", id: 1, method: "tools/call", params });
      const key = { "X-API-Key": by.agent.apiKey, Accept: "application/json, text/event-stream" };
      return request(world.gateway, undefined, "/mcp", { method: "POST", body }, { ...headers, ...key });
    };
    const refused = await answerTo(({ challenge }) => (challenge["id"] = "A".repeat(43)));
    expect(refused).toMatchObject({
      status: 200,
      body: { error: { code: -32043, data: { code: "INVALID_PAYMENT", httpStatus: 402 } } },
    });
    const malformed = await answerTo(({ payload }) => delete payload["transaction"]);
    expect(malformed).toMatchObject({ status: 200, body: { error: { code: -32602 } } });
    expectNoChallenge(refused);
    await by.expectNothing();
  });
});

describe("one transaction in two schemes", () => {
  it("is charged once when it is offered through both at once on three instances", async () => {
    by = await buyer(world);
    const before = await payer.usdc();
    const [other, third] = [await world.startAnother(), await world.startAnother()];
    const { headers } = await send(undefined);
    const credential = await payer.credential(headers.get("www-authenticate") ?? "");
    const { transaction } = decoded(credential).payload;
    const [accepted] = JSON.parse(
      Buffer.from(headers.get("payment-required") ?? "", "base64").toString(),
    ).accepts;
    const payload = { x402Version: 2, accepted, payload: { transaction } };
    const signature = Buffer.from(JSON.stringify(payload)).toString("base64");
    const byX402 = (gateway: Pick<Gateway, "baseUrl">) =>
      request(gateway, by.agent, KEYED, { method: "POST", body: CALL }, { "PAYMENT-SIGNATURE": signature });
    const ask = () =>
      Promise.all([
        byX402(world.gateway),
        send(credential, { gateway: other }),
        byX402(third),
        send(credential),
        send(credential, { gateway: third }),
      ]);
    for (const { status, body } of await ask())
      expect(
        ["200 undefined", "409 REQUEST_IN_PROGRESS", "503 PAYMENT_PENDING"],
        JSON.stringify(body),
      ).toContain(`${status} ${body.code}`);
    const settled = await ask();
    for (const { status, body } of settled)
      expect({ status, body }).toEqual({ status: 200, body: settled[0]?.body });
    expect(settled[0]?.headers.get("payment-response")).not.toBeNull();
    expect(settled[1]?.headers.get("payment-receipt")).not.toBeNull();
    expect(await payer.usdc()).toBe(before - PRICE);
    await by.expectOneCall();
  });
});
