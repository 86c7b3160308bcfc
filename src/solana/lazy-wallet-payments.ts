import type { WalletPayments } from "../app/deposits/wallet-payments.ts";
import type { SolanaRpc } from "./rpc.ts";
import type { Treasury } from "./treasury.ts";

/**
 * Payments by wallets that pay the fee themselves, imported with the library that builds them when somebody first pays so: calls need
 * none of it.
 * @param rpc shared with the chain that verifies payments, so that each endpoint has one circuit breaker
 */
export function lazyWalletPayments(rpc: SolanaRpc, treasury: Treasury): WalletPayments {
  // Not kept: modules are loaded once anyway, and one that could not be loaded now may be later.
  const open = async (): Promise<WalletPayments> => {
    const { SolanaWalletPayments } = await import("./wallet-payments.ts");
    return new SolanaWalletPayments(rpc, treasury);
  };
  return {
    build: async (payment, signal) => (await open()).build(payment, signal),
    send: async (transaction, signal) => (await open()).send(transaction, signal),
  };
}
