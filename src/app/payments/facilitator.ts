import type { Clock, Random } from "../../domain/core/clock.ts";
import { malformedProof, ToolgateError } from "../../domain/core/errors.ts";
import type { JsonObject } from "../../domain/core/json.ts";
import {
  demanded,
  parseAccepted,
  parseX402Payload,
  type X402Payload,
} from "../../domain/payments/x402-payload.ts";
import { X402_NETWORK, X402_SCHEME, type X402Terms, type X402Treasury } from "../../domain/payments/x402.ts";
import type { Metrics } from "../operations/metrics.ts";
import type { FacilitatingRelay, RelayRequest, Sponsor } from "./gasless/relay-port.ts";

export interface FacilitatorDeps {
  readonly relay: FacilitatingRelay;
  readonly treasury: X402Treasury;
  readonly clock: Clock;
  readonly random: Random;
  readonly metrics: Pick<Metrics, "count">;
}

export interface FacilitatorCaller extends Pick<RelayRequest, "accountId" | "keyId" | "signal"> {}

/** Errors about a payment: the resource server reads them in the answer, not in its status. */
const REFUSALS = new Set([
  "INVALID_PAYMENT",
  "QUOTE_EXPIRED",
  "RATE_LIMITED",
  "PAYMENT_PENDING",
  "UNAVAILABLE",
]);
const [ACCEPTED, REFUSED] = ["accepted", "refused"];

/**
 * An x402 facilitator (version 2, scheme `exact`) for other services of the operator: the relay sends their
 * payments by its own rules and limits. The ledger has no part in it. A payment settles once: its claim stays
 * with the relay, and the treasury is no recipient, so it buys no call here.
 */
export class Facilitator {
  readonly #deps: FacilitatorDeps;

  constructor(deps: FacilitatorDeps) {
    this.#deps = deps;
    for (const operation of ["verify", "settle"])
      for (const outcome of [ACCEPTED, REFUSED]) this.#count(operation, outcome, 0);
  }

  /** x402, `GET /supported`. */
  supported(): JsonObject {
    const { feePayer } = this.#deps.relay;
    const kind = { x402Version: 2, scheme: X402_SCHEME, network: X402_NETWORK, extra: { feePayer } };
    return { kinds: [kind], extensions: [], signers: { [X402_NETWORK]: [feePayer] } };
  }

  /** x402, `POST /verify`. */
  verify(body: JsonObject, caller: FacilitatorCaller): Promise<JsonObject> {
    return this.#run(
      "verify",
      body,
      caller,
      async (order) => {
        await this.#deps.relay.check(order);
        return { isValid: true, payer: order.transaction.payer };
      },
      (invalidReason, invalidMessage) => ({ isValid: false, invalidReason, invalidMessage }),
    );
  }

  /** x402, `POST /settle`: waits until the payment is confirmed. */
  settle(body: JsonObject, caller: FacilitatorCaller): Promise<JsonObject> {
    const network = X402_NETWORK;
    return this.#run(
      "settle",
      body,
      caller,
      async (order) => {
        await this.#deps.relay.relay(order);
        const { txSignature, payer } = order.transaction;
        return { success: true, transaction: txSignature, network, payer };
      },
      (errorReason, errorMessage) => ({
        success: false,
        errorReason,
        errorMessage,
        transaction: "",
        network,
      }),
    );
  }

  async #run(
    operation: string,
    body: JsonObject,
    caller: FacilitatorCaller,
    act: (order: RelayRequest) => Promise<JsonObject>,
    refusal: (reason: string, message: string) => JsonObject,
  ): Promise<JsonObject> {
    try {
      const done = await act(await this.#order(body, caller));
      this.#count(operation, ACCEPTED);
      return done;
    } catch (error) {
      if (!(error instanceof ToolgateError) || !REFUSALS.has(error.code)) throw error;
      this.#count(operation, REFUSED);
      return refusal(error.code.toLowerCase(), error.message);
    }
  }

  async #order(body: JsonObject, caller: FacilitatorCaller): Promise<RelayRequest> {
    const { relay, clock, random } = this.#deps;
    const path = "paymentRequirements";
    const required = parseAccepted(demanded(body, path, ""), `${path}.`);
    const payload = parseX402Payload(demanded(body, "paymentPayload", ""), "paymentPayload");
    const price = this.#priceOf(required, payload);
    const sponsor = this.#sponsorTo(required.payTo ?? "", `${path}.payTo`);
    const transaction = await relay.identify(payload.transaction, sponsor);
    const receivedAt = clock.now();
    const quoteId = `x402_${Buffer.from(random.bytes(16)).toString("hex")}`;
    const { memo = transaction.memo } = required;
    const quote = { quoteId, price, expiresAt: receivedAt, memo };
    return { transaction, quote, sponsor, receivedAt, ...caller };
  }

  /** Returns the price, micro-USD, after the terms were compared with what is served and was accepted. */
  #priceOf(required: Partial<X402Terms>, { accepted = {} }: X402Payload): bigint {
    const { relay, treasury } = this.#deps;
    const { amount = "", memo } = required;
    const served: Partial<X402Terms> = {
      scheme: X402_SCHEME,
      network: X402_NETWORK,
      asset: treasury.mint,
      feePayer: relay.feePayer,
    };
    for (const name of ["scheme", "network", "asset", "feePayer"] as const)
      if (required[name] !== served[name])
        throw malformedProof(`paymentRequirements: ${name} must be ${served[name]}; read it at /supported`);
    for (const name of ["scheme", "network", "amount", "asset", "payTo", "feePayer"] as const)
      if (accepted[name] !== required[name])
        throw malformedProof(`paymentPayload: accepted.${name} is not what is required`);
    if (accepted.memo !== memo)
      throw malformedProof("paymentPayload: accepted.extra.memo is not what is required");
    if (!/^[1-9]\d{0,17}$/.test(amount))
      throw malformedProof("paymentRequirements: amount must be a whole number of micro-USDC");
    return BigInt(amount);
  }

  #sponsorTo(recipient: string, path: string): Sponsor {
    const { relay, treasury } = this.#deps;
    if (recipient === treasury.owner)
      throw malformedProof(
        `${path}: is the treasury, which calls of this gateway are paid to; name another wallet`,
      );
    try {
      return relay.sponsorTo(recipient);
    } catch (error) {
      if (!(error instanceof TypeError)) throw error;
      throw malformedProof(`${path}: must be a wallet's address, other than the fee payer's`);
    }
  }

  #count(operation: string, outcome = "", by = 1): void {
    this.#deps.metrics.count("toolgate_facilitator_payments_total", by, { operation, outcome });
  }
}
