import { VersionedTransaction } from "@solana/web3.js";
import { base58 } from "@scure/base";
import { Challenge, Credential } from "mppx";
import { z } from "zod";
import { buildPayment, encodeTransaction } from "../../src/client/transaction.ts";
import { Buyer } from "./buyer.ts";
import type { Call, Reply } from "./client.ts";
import type { Market } from "./market.ts";
import type { Dice } from "./random.ts";

/** Funds of a wallet, micro-USD. */
const FUNDS = 1_000_000n;

const entry = z.looseObject({
  amount: z.string(),
  asset: z.string(),
  extra: z.looseObject({ memo: z.string(), recentBlockhash: z.string().optional() }),
});
const offer = z.object({ accepts: z.tuple([entry]).rest(entry) });

/** Calls of a new wallet without an API key: the wallet signs, the gateway sends. */
export async function walletBuys(market: Market, dice: Dice): Promise<void> {
  const wallet = market.ground.chain.controls.createWallet({ microUsd: FUNDS });
  const accountId = walletId(wallet.publicKey.toBase58());
  const customer = { accountId, apiKey: undefined, wallet, opening: 0n };
  market.reference.open(customer);
  const buyer = new Buyer(market, customer, dice);
  await buysOnce(buyer);
  // Its account exists by now.
  if (dice.next() < 0.3) await buysOnce(buyer);
}

/** The account of a wallet without a key. */
export function walletId(wallet: string): string {
  return `wallet:${wallet}`;
}

/** Signs an offer and sends it until it bought its call or is refused, then again at all instances. */
async function buysOnce(buyer: Buyer): Promise<void> {
  const call = buyer.market.estimate();
  const offered = await buyer.insist(call);
  if (!offered) return;
  if (offered.status !== 402 || offered.body.code !== "PAYMENT_REQUIRED")
    return buyer.violated("a wallet without a key gets an offer", call, offered);
  const { tx, x402, credential } = sign(buyer, call, offered);
  const paid = buyer.dice.pick([x402, credential]);
  // One transaction in both schemes at two instances: one charge, one answer.
  const isRace = buyer.dice.next() < 0.3;
  const [first, other] = isRace
    ? await Promise.all([buyer.insist(x402, 0), buyer.insist(credential, 1)])
    : [await buyer.insist(paid)];
  const reply = first?.status === 200 ? first : (other ?? first);
  if (!reply) return;
  if (reply.status === 200) {
    buyer.boughtWith(tx, paid, reply);
    return buyer.buysEverywhere(x402, credential, paid);
  }
  // A blockhash or quote may expire while everything fails. The chain shows whether USDC moved.
  if (reply.status !== 402 || !["INVALID_PAYMENT", "QUOTE_EXPIRED"].includes(reply.body.code ?? ""))
    buyer.violated("a wallet's payment buys its call, or is refused for its expiry", paid, reply);
}

/** A call with its payment in x402 and in the scheme `Payment`. */
interface Signed {
  readonly tx: string;
  readonly x402: Call;
  readonly credential: Call;
}

/** The payment is recorded before it is sent: the signature follows from both keys. */
function sign({ market, customer }: Buyer, call: Call, { headers }: Reply): Signed {
  const header = headers.get("payment-required") ?? "";
  const [accepted] = offer.parse(JSON.parse(Buffer.from(header, "base64").toString())).accepts;
  const { amount, asset: mint, extra } = accepted;
  const { chain, feePayer, payTo } = market.ground;
  const { slots } = chain.chain;
  const unsigned = buildPayment({
    payer: customer.wallet.publicKey.toBase58(),
    feePayer: feePayer.publicKey.toBase58(),
    ...{ payTo, mint, amount: BigInt(amount), memo: extra.memo },
    blockhash: extra.recentBlockhash ?? slots.blockhash(slots.current),
    computeUnitPrice: 1n,
  });
  const transaction = VersionedTransaction.deserialize(encodeTransaction(unsigned));
  transaction.sign([customer.wallet]);
  const payload = { transaction: Buffer.from(transaction.serialize()).toString("base64") };
  transaction.sign([feePayer]);
  const tx = base58.encode(transaction.signatures[0] ?? new Uint8Array());
  market.reference.paid(tx, BigInt(amount), customer, true);
  const sent = Buffer.from(JSON.stringify({ x402Version: 2, payload, accepted })).toString("base64");
  const challenge = Challenge.deserialize(headers.get("www-authenticate") ?? "");
  const authorization = Credential.serialize({ challenge, payload: { type: "transaction", ...payload } });
  const paid = (payment: Record<string, string>) => ({ ...call, proof: { tx, quoteId: "" }, payment });
  return { tx, x402: paid({ "payment-signature": sent }), credential: paid({ authorization }) };
}
