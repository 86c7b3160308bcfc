import type { StartPayment } from "../../../domain/calls/call-context.ts";
import type { Receipt } from "../../../domain/calls/receipt.ts";
import type { Clock } from "../../../domain/core/clock.ts";
import type { ProofCarriers } from "../../../domain/payments/proof.ts";
import { receiptOfSuccess } from "../../payment-auth/receipt.ts";
import type { RequestContext } from "../../request-context.ts";
import { settlementOfFailure, settlementOfSuccess, type SettlementReport } from "../../x402/settlement.ts";

/** Reports the outcome of a call's payment to the transport, once, in the scheme of the payment. */
export class PaymentReport {
  readonly #proof: ProofCarriers;
  readonly #clock: Clock;
  #notify: RequestContext["onSettlement"];

  constructor({ onSettlement }: RequestContext, proof: ProofCarriers, clock: Clock) {
    this.#proof = proof;
    this.#clock = clock;
    this.#notify = onSettlement;
  }

  succeeded(receipt: Receipt | undefined, extensions?: object): void {
    this.#report(
      settlementOfSuccess(this.#proof, receipt, extensions) ?? receiptOfSuccess(this.#proof, receipt),
    );
  }

  failed(error: unknown): void {
    this.#report(settlementOfFailure(this.#proof, error));
  }

  /** The header of a stream is sent before there is a receipt, so its payment is reported at the start. */
  atStart<Context extends RequestContext>(context: Context): Context {
    if (!context.output) return context;
    const onStart = (payment: StartPayment | undefined) => {
      const started = payment && { ...payment, createdAt: new Date(this.#clock.now()) };
      this.#report(settlementOfSuccess(this.#proof, payment) ?? receiptOfSuccess(this.#proof, started));
      context.onStart?.(payment);
    };
    return { ...context, onStart };
  }

  #report(report: SettlementReport | undefined): void {
    if (!report) return;
    this.#notify?.(report);
    this.#notify = undefined;
  }
}
