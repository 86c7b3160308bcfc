import type { CallToolDeps } from "../../../src/app/calls/call-tool.ts";
import { type PaymentMethod, PaymentMethods } from "../../../src/app/payments/payment-methods.ts";
import type { CallPorts } from "../../../src/gateway/call-tool-deps.ts";
import { paymentMethods } from "../../../src/gateway/payment-methods.ts";

/** Ports that a test without gasless payments and calls without a key does not use. */
export const unusedPaymentPorts = {
  relay: undefined,
  claims: { find: async () => undefined },
  treasury: { owner: "owner", mint: "mint" },
  memoPrefix: "svc",
  finalizedAbove: 50_000_000n,
  gaslessMinimum: 1_000n,
  finality: { finalityStatuses: async () => [] },
  wallets: { find: async () => undefined, open: () => Promise.reject(new Error("no wallet pays here")) },
} satisfies Partial<CallPorts>;

/** Adds the registered payment methods, and more. */
export function withPayments(ports: CallPorts, more: readonly PaymentMethod[] = []): CallToolDeps {
  return { ...ports, payments: new PaymentMethods([...paymentMethods(ports), ...more]) };
}
