import { generateKeyPairSync, sign } from "node:crypto";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { decodePaymentRequiredHeader } from "@x402/core/http";
import {
  createOfferJWS,
  createReceiptJWS,
  decodeSignedOffers,
  extractJWSHeader,
  extractOffersFromPaymentRequired,
  extractReceiptFromResponse,
  extractReceiptPayload,
  findAcceptsObjectFromSignedOffer,
  isJWSSignedOffer,
  isJWSSignedReceipt,
  verifyOfferSignatureJWS,
  verifyReceiptMatchesOffer,
  verifyReceiptSignatureJWS,
  type JWSSignedOffer,
  type JWSSignedReceipt,
  type JWSSigner,
} from "@x402/extensions/offer-receipt";
import { beforeAll, describe, expect, it } from "vitest";
import { z } from "zod";
import { restartPort } from "../support/ports.ts";
import { runToolgateHere } from "../cli/toolgate.ts";
import { runExample } from "../clients/run-example.ts";
import { query } from "../support/database-server.ts";
import { useWorld } from "../support/use-world.ts";
import { SLOT_MS, x402Payer, type X402Payer } from "./x402-payer.ts";

/** Signed offers and receipts of calls without an API key, judged by the package of the extension. */

const PATH = "/x402/vram_estimate";
const PARAMS = { model: "llama-3.1-8b" };
const REJECTED = /signature verification failed/;

const world = useWorld({ PAYMENT_WAIT_MS: "30000" }, SLOT_MS);
let payer: X402Payer;

beforeAll(async () => {
  // A busy machine confirms payments late.
  payer = await x402Payer(world);
});

const post = (using: typeof fetch = fetch, headers: Record<string, string> = {}) =>
  using(world.gateway.baseUrl + PATH, {
    method: "POST",
    body: JSON.stringify(PARAMS),
    headers: { "Content-Type": "application/json", ...headers },
  });

async function offered() {
  const { headers } = await post();
  const header = headers.get("payment-required") ?? "";
  const required = decodePaymentRequiredHeader(header);
  const [offer] = extractOffersFromPaymentRequired(required);
  if (!offer || !isJWSSignedOffer(offer)) throw new Error("no signed offer");
  return { header, required, offer };
}

async function bought(answer?: Response) {
  const response = answer ?? (await post(payer.fetch));
  expect(response.status).toBe(200);
  const receipt = extractReceiptFromResponse(response);
  if (!receipt || !isJWSSignedReceipt(receipt)) throw new Error("no signed receipt");
  const body = z
    .object({ receipt: z.object({ tx_signature: z.string(), created_at: z.iso.datetime() }) })
    .parse(await response.json());
  return { receipt, stored: body.receipt };
}

const did = () => `did:web:${encodeURIComponent(new URL(world.gateway.baseUrl).host)}`;

const document = async () =>
  z
    .object({
      id: z.string(),
      verificationMethod: z.array(z.object({ id: z.string(), controller: z.string() })),
      assertionMethod: z.array(z.string()),
    })
    .parse(await (await fetch(`${world.gateway.baseUrl}/.well-known/did.json`)).json());

function changed<Signed extends JWSSignedOffer | JWSSignedReceipt>(signed: Signed, members: object): Signed {
  const [header, payload = "", signature] = signed.signature.split(".");
  const known: object = JSON.parse(Buffer.from(payload, "base64url").toString());
  const other = Buffer.from(JSON.stringify({ ...known, ...members })).toString("base64url");
  return { ...signed, signature: [header, other, signature].join(".") };
}

describe("an offer without an API key", () => {
  it("is signed by a key of the gateway's domain, and repeats its terms", async () => {
    const { required, offer } = await offered();
    const verified = await verifyOfferSignatureJWS(offer);
    const [decoded] = decodeSignedOffers([offer]);
    if (!decoded) throw new Error("no offer");
    expect(findAcceptsObjectFromSignedOffer(decoded, required.accepts)).toEqual(required.accepts[0]);
    expect(verified.resourceUrl).toBe(required.resource?.url);
    expect(extractJWSHeader(offer.signature)).toEqual({ alg: "EdDSA", kid: `${did()}#key-1` });
    expect(await document()).toMatchObject({
      id: did(),
      verificationMethod: [{ id: `${did()}#key-1`, controller: did() }],
      assertionMethod: [`${did()}#key-1`],
    });
  });

  it("is not signed beyond the life of its quote, and less than a tenth before its end", async () => {
    const { headers } = await post();
    const { quote } = z
      .object({ quote: z.object({ ttl_seconds: z.number(), expires_at: z.iso.datetime() }) })
      .parse(await (await post()).json());
    const [offer] = extractOffersFromPaymentRequired(
      decodePaymentRequiredHeader(headers.get("payment-required") ?? ""),
    );
    const { validUntil } = decodeSignedOffers(offer ? [offer] : [])[0] ?? { validUntil: 0 };
    const expiresAt = Date.parse(quote.expires_at) / 1_000;
    expect(validUntil).toBeLessThanOrEqual(expiresAt);
    expect(expiresAt - validUntil).toBeLessThanOrEqual(quote.ttl_seconds / 5);
  });

  it("is rejected when a member was changed", async () => {
    const { offer } = await offered();
    for (const member of ["amount", "payTo", "resourceUrl", "asset", "network", "scheme", "validUntil"])
      await expect(verifyOfferSignatureJWS(changed(offer, { [member]: "1" }))).rejects.toThrow(REJECTED);
  });
});

describe("a receipt of a bought call", () => {
  it("names the payer, the resource and the payment, and fits the offer", async () => {
    const { offer } = await offered();
    const [decoded] = decodeSignedOffers([offer]);
    const { receipt, stored } = await bought();
    const wallet = payer.wallet.publicKey.toBase58();
    expect(await verifyReceiptSignatureJWS(receipt)).toEqual({
      version: 1,
      network: "solana:5eykt4UsFv8P8NJdTREpY1vzqKqZKvdp",
      resourceUrl: world.gateway.baseUrl + PATH,
      payer: wallet,
      issuedAt: Math.floor(Date.parse(stored.created_at) / 1_000),
      transaction: stored.tx_signature,
    });
    expect(decoded && verifyReceiptMatchesOffer(receipt, decoded, [wallet])).toBe(true);
    expect(decoded && verifyReceiptMatchesOffer(receipt, decoded, ["another"])).toBe(false);
  });

  it("is the same when the same payment is sent again", async () => {
    const signed = await payer.sign((await offered()).header);
    const send = async () => bought(await post(fetch, { "PAYMENT-SIGNATURE": signed }));
    const first = await send();
    expect(await send()).toEqual(first);
  });

  it("is rejected when a member was changed", async () => {
    const { receipt } = await bought();
    for (const member of ["payer", "resourceUrl", "network", "transaction", "issuedAt"])
      await expect(verifyReceiptSignatureJWS(changed(receipt, { [member]: "x" }))).rejects.toThrow(REJECTED);
  });

  it("is rejected when another key signed it, under a key of the gateway or one that it does not list", async () => {
    const { privateKey } = generateKeyPairSync("ed25519");
    const forger = (kid: string): JWSSigner => ({
      kid,
      format: "jws",
      algorithm: "EdDSA",
      sign: (bytes) => Promise.resolve(sign(null, bytes, privateKey).toString("base64url")),
    });
    const { receipt } = await bought();
    const forged = (kid: string) => createReceiptJWS(extractReceiptPayload(receipt), forger(kid));
    await expect(verifyReceiptSignatureJWS(await forged(`${did()}#key-1`))).rejects.toThrow(REJECTED);
    await expect(verifyReceiptSignatureJWS(await forged(`${did()}#key-9`))).rejects.toThrow(
      /No verification/,
    );
    const { required } = await offered();
    const terms = { ...required.accepts[0]!, acceptIndex: 0 };
    const offer = await createOfferJWS(world.gateway.baseUrl + PATH, terms, forger(`${did()}#key-1`));
    await expect(verifyOfferSignatureJWS(offer)).rejects.toThrow(REJECTED);
  });

  it("is verified by the program of the guide, which pays no offer that another address signed", async () => {
    const folder = mkdtempSync(path.join(tmpdir(), "toolgate-receipt-"));
    const WALLET = path.join(folder, "wallet.json");
    writeFileSync(WALLET, JSON.stringify([...payer.wallet.secretKey]));
    const run = (TOOLGATE_URL: string) =>
      runExample("node/x402-receipt.ts", { TOOLGATE_URL, WALLET, SOLANA_RPC_URL: world.chain.url });
    const [ended, usdc] = [await run(world.gateway.baseUrl), await payer.usdc()];
    expect(ended).toMatchObject({ code: 0, stderr: "" });
    expect(ended.stdout).toMatch(/^\{ bytes.* [\w-]+\.[\w-]+\.[\w-]+\n$/);
    const port = await restartPort();
    await world.startAnother({ PUBLIC_URL: "https://other.example", PORT: String(port) });
    expect(await run(`http://127.0.0.1:${port}`)).toMatchObject({
      code: 1,
      stderr: expect.stringMatching(/^signed by did:web:other.example#key-1, not did:web:127/),
    });
    expect(await payer.usdc()).toBe(usdc);
    rmSync(folder, { recursive: true });
  });

  it("does not come with a call that another payment under the same payment-identifier bought", async () => {
    const id = "pay_fedcba9876543210fedcba9876543210";
    const pay = async () => {
      const signed = await payer.sign((await offered()).header, (payload) => {
        payload.extensions!["payment-identifier"]!.info["id"] = id;
      });
      return post(fetch, { "PAYMENT-SIGNATURE": signed });
    };
    const first = await bought(await pay());
    const again = await pay();
    expect(extractReceiptFromResponse(again)).toBeUndefined();
    expect(await again.json()).toMatchObject({ receipt: { tx_signature: first.stored.tx_signature } });
  });

  it("is not sent for calls with an API key, whose receipts are stored for the account", async () => {
    const agent = await world.agent();
    const call = { tool: "vram_estimate", params: PARAMS };
    const answer = await world.call(agent, call.tool, call.params);
    const required = decodePaymentRequiredHeader(answer.headers.get("payment-required") ?? "");
    expect(extractOffersFromPaymentRequired(required)).toEqual([]);
  });
});

describe("a rotation", () => {
  it("of sealing keys changes no signature", async () => {
    const { receipt } = await bought();
    await world.postgres.sealingKeyAdmin.rotate({ purpose: "quotes", now: true });
    await query(world.database.url, "delete from sealing_key where version = 1");
    expect((await verifyReceiptSignatureJWS(receipt)).version).toBe(1);
  });

  it("of the signing key keeps older receipts valid until the old key is retired by force", async () => {
    const old = await bought();
    const { sealingKeyAdmin: admin } = world.postgres;
    await admin.rotate({ purpose: "receipts", now: true });
    const versionOf = (signature: string) => extractJWSHeader(signature).kid?.split("#")[1];
    const signs = async () => versionOf((await offered()).offer.signature);
    await expect.poll(signs, { interval: 20 }).toBe("key-2");
    const fresh = await bought();
    expect(versionOf(fresh.receipt.signature)).toBe("key-2");
    for (const { receipt } of [old, fresh]) await verifyReceiptSignatureJWS(receipt);

    await query(world.database.url, "update signing_key set active_from = now() - interval '1 year'");
    const retire = (...more: string[]) =>
      runToolgateHere({ DATABASE_URL: world.database.url }, [
        ...["sealing-keys", "retire", "--for", "receipts", "--key", "1"],
        ...more,
      ]);
    expect((await retire()).stderr).toMatch(/still needed: buyers verify the receipts that it signed/);
    expect(await retire("--force")).toMatchObject({ code: 0 });
    const listed = async () => (await document()).assertionMethod;
    await expect.poll(listed, { interval: 20 }).toEqual([`${did()}#key-2`]);
    await expect(verifyReceiptSignatureJWS(old.receipt)).rejects.toThrow(/No verification method/);
    await verifyReceiptSignatureJWS(fresh.receipt);
  });
});
