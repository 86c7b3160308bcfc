import { parseProof, type Proof, type ProofCarriers } from "../../domain/payments/proof.ts";
import type { Quote } from "../../domain/payments/quote.ts";
import type {
  IdentifiedPayment,
  PaymentAttempt,
  PaymentInstructions,
  PaymentMethod,
  SettledPayment,
  X402Entry,
} from "./payment-method.ts";

/** Returns the finality of payments on one network. */
export type NetworkFinality = Pick<PaymentMethod, "finalityStatuses">;

/**
 * The registered payment methods. Code outside a method's folder uses the methods through this class only.
 */
export class PaymentMethods {
  /** By network. */
  readonly networks: ReadonlyMap<string, NetworkFinality>;
  readonly #methods: readonly PaymentMethod[];
  readonly #byName: ReadonlyMap<string, PaymentMethod>;

  /** @param methods in the order of 402 responses, which is also the order in which they recognise proofs */
  constructor(methods: readonly PaymentMethod[]) {
    this.#methods = methods;
    this.#byName = new Map(methods.map((method) => [method.name, method]));
    this.networks = new Map(methods.map((method) => [method.network, method]));
    if (this.#byName.size !== methods.length) throw new TypeError("two payment methods have one name");
  }

  /** @throws ToolgateError INVALID_PAYMENT 400: nothing was looked up or consumed */
  parse(carriers: ProofCarriers): Proof | undefined {
    return parseProof(carriers, this.#methods);
  }

  /** Returns the instructions of each method that can pay the quote. */
  instructions(quote: Quote): PaymentInstructions[] {
    return this.#methods.flatMap((method) => method.instructions(quote) ?? []);
  }

  /** Returns the x402 forms of the quote; empty when it cannot be paid so. */
  async x402(quote: Quote): Promise<X402Entry[]> {
    const entries = this.#methods.map(async (method) => method.instructions(quote) && method.x402?.(quote));
    return (await Promise.all(entries)).filter((entry) => entry !== undefined);
  }

  /** {@link PaymentMethod.identify} */
  identify(proof: Proof): Promise<IdentifiedPayment> {
    return this.#of(proof).identify(proof);
  }

  /** {@link PaymentMethod.verify} */
  verify(payment: IdentifiedPayment, attempt: PaymentAttempt): Promise<void> {
    return this.#of(payment).verify(payment, attempt);
  }

  /** {@link PaymentMethod.settle} */
  settle(payment: IdentifiedPayment, attempt: PaymentAttempt): Promise<SettledPayment> {
    return this.#of(payment).settle(payment, attempt);
  }

  #of({ method: name }: { readonly method: string }): PaymentMethod {
    const method = this.#byName.get(name);
    if (method) return method;
    throw new Error(`no payment method ${name}`);
  }
}
