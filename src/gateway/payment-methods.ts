import { GaslessMethod, type GaslessDeps } from "../app/payments/gasless/gasless-method.ts";
import type { PaymentMethod } from "../app/payments/payment-methods.ts";
import { transferMethod, type TransferDeps } from "../app/payments/transfer/transfer-method.ts";

export interface PaymentPorts extends TransferDeps, GaslessDeps {}

/** Registers the payment methods, in the order of 402 responses. */
export function paymentMethods(ports: PaymentPorts): PaymentMethod[] {
  return [
    transferMethod(ports),
    // Takes every x402 payload that no method before it recognises.
    new GaslessMethod(ports),
  ];
}
