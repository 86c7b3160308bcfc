export { openChain, type ChainOptions, type SolanaChain } from "./chain.ts";
export { SolanaDeposits } from "./deposit-chain.ts";
export type { Log } from "./log.ts";
export { paymentInstructions } from "./payment-instructions.ts";
export { SolanaRelayChain } from "./relay-chain.ts";
export { signInForms } from "./sign-in-forms.ts";
export { SolanaTreasury, type SolanaTreasuryOptions } from "./treasury-chain.ts";
export { adviseOnEndpoints, checkChain, type ChainProblem } from "./startup-checks.ts";
export { SolanaWalletPayments } from "./wallet-payments.ts";
