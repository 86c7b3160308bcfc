import type { Receipt } from "../../domain/calls/receipt.ts";
import type { Clock } from "../../domain/core/clock.ts";
import { Lru } from "../../domain/core/lru.ts";
import { didWeb, type JwsSigner } from "../../domain/payments/jws-signer.ts";
import type { Quote } from "../../domain/payments/quote.ts";
import { X402_NETWORK, type X402Terms } from "../../domain/payments/x402.ts";
import { TokenBuckets } from "../token-buckets.ts";

const NAME = "offer-receipt";
/** Version of the signed members. */
const VERSION = 1;
/** Kept signatures: tools times prices. */
const MAX_KEPT = 1_000;
/** New signatures of offers per instance: they are slow, and strangers choose the amount of some tools. */
const NEW_OFFERS = { ratePerMinute: 6_000, burst: 100 };
/** An offer is signed again after this part of its lifetime. */
const RENEWALS = 10;

const DIALECT = "https://json-schema.org/draft/2020-12/schema";
const OFFERS = { $schema: DIALECT, type: "object", required: ["offers"] } as const;
const RECEIPT = { $schema: DIALECT, type: "object", required: ["receipt"] } as const;

export interface OfferReceiptOptions {
  readonly signer: JwsSigner;
  readonly clock: Clock;
  /** Public address of the gateway without a trailing slash; available after the servers listen. */
  readonly baseUrl: () => string;
  readonly cell: number;
}

/** The x402 extension `offer-receipt`: signs what wallets are offered, and what they bought. */
export class OfferReceipts {
  readonly #options: OfferReceiptOptions;
  readonly #new: TokenBuckets;
  /** By what they sign. */
  readonly #kept = new Lru<string, string>(MAX_KEPT);

  constructor(options: OfferReceiptOptions) {
    this.#options = options;
    this.#new = new TokenBuckets(options.clock, NEW_OFFERS);
  }

  /** Returns the extension of an offer, a signature per entry of `accepts`; none above the limit. */
  offered(path: string, quote: Pick<Quote, "issuedAt" | "expiresAt">, terms: readonly X402Terms[]): object {
    const step = (quote.expiresAt - quote.issuedAt) / RENEWALS;
    const validUntil = Math.floor((Math.floor(quote.expiresAt / step) * step) / 1_000);
    const signatures = terms.map((one) => this.#offer(path, validUntil, one));
    if (signatures.includes(undefined)) return {};
    const offers = signatures.map((signature, acceptIndex) => ({ format: "jws", acceptIndex, signature }));
    return { [NAME]: { info: { offers }, schema: OFFERS } };
  }

  /** Returns the extension of a settlement; nothing when money went back. @param payer wallet, base58 */
  bought(path: string, payer: string, receipt: Receipt): object {
    const { txSignature: transaction, status, createdAt } = receipt;
    if (transaction === undefined || status !== "final") return {};
    const { signer, baseUrl } = this.#options;
    const signature = signer.sign(this.#did(), {
      issuedAt: Math.floor(createdAt.getTime() / 1_000),
      network: X402_NETWORK,
      payer,
      resourceUrl: baseUrl() + path,
      transaction,
      version: VERSION,
    });
    return { [NAME]: { info: { receipt: { format: "jws", signature } }, schema: RECEIPT } };
  }

  #offer(path: string, validUntil: number, terms: X402Terms): string | undefined {
    const { signer, baseUrl } = this.#options;
    const { amount, asset, network, payTo, scheme } = terms;
    const resourceUrl = baseUrl() + path;
    const payload = { amount, asset, network, payTo, resourceUrl, scheme, validUntil, version: VERSION };
    const key = `${signer.version} ${JSON.stringify(payload)}`;
    const kept = this.#kept.get(key);
    if (kept !== undefined) return kept;
    if (!this.#new.take("").allowed) return undefined;
    const signature = signer.sign(this.#did(), payload);
    this.#kept.set(key, signature);
    return signature;
  }

  #did(): string {
    const { baseUrl, cell } = this.#options;
    return didWeb(baseUrl(), cell);
  }
}
