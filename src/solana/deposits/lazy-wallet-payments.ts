import type { WalletPayments } from "../../app/deposits/deposits.ts";
import type { SolanaRpc } from "../rpc/rpc.ts";
import type { Treasury } from "../core/treasury.ts";

/**
 * Loads payments by fee-paying wallets and their library on first use: tool calls do not need them.
 * @param rpc shared with payment verification, so that each endpoint has one circuit breaker
 * @param load may fail, for example without a free file descriptor
 */
export function lazyWalletPayments(
  rpc: SolanaRpc,
  treasury: Treasury,
  load = () => import("./wallet-payments.ts"),
): WalletPayments {
  // Not cached: modules load once anyway, and a failed load can be retried.
  const open = async (): Promise<WalletPayments> => {
    const { SolanaWalletPayments } = await load();
    return new SolanaWalletPayments(rpc, treasury);
  };
  return {
    build: async (payment, signal) => (await open()).build(payment, signal),
    send: async (transaction, signal) => (await open()).send(transaction, signal),
  };
}
