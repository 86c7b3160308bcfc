export { openChain, type ChainOptions, type SolanaChain } from "./chain.ts";
export { SolanaDeposits } from "./deposit-chain.ts";
export { SolanaStatus } from "./chain-status.ts";
export type { Log } from "./log.ts";
export { SolanaRelayChain } from "./relay-chain.ts";
export { lazySignInForms } from "./lazy-sign-in-forms.ts";
export { SolanaTreasury, type SolanaTreasuryOptions } from "./treasury-chain.ts";
export { adviseOnEndpoints, checkChain, type ChainProblem } from "./startup-checks.ts";
export { lazyWalletPayments } from "./lazy-wallet-payments.ts";
