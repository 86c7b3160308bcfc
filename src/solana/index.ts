export { openChain, type ChainOptions, type SolanaChain } from "./chain.ts";
export type { Log } from "./log.ts";
export {
  paymentInstructions,
  paymentTransaction,
  type PaymentOrder,
  type PaymentTransactionOptions,
} from "./payment-transaction.ts";
export { checkChain, type ChainProblem } from "./startup-checks.ts";
export { treasuryOf, type Treasury } from "./treasury.ts";
